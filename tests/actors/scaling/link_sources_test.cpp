// The sources of a chain link: how it follows, leaves and replaces them.
#include "tests/actors/scaling/link_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("chain link: it leaves a source whose pulls fail time after time") {
  link_stage s;
  s.announce(first_source, s.follow(first_source), 0, 3);
  s.end_pull();
  const auto gives_up = s.now + 1s;
  for (int i = 1; s.now < gives_up; ++i) {
    REQUIRE(!s.memory.byte_pulls.empty());
    s.end_pull(0, i % 2 ? pull_status::lost : pull_status::ok, true);
    s.run_until(s.now + 20ms);
    REQUIRE(s.state().from == "n4");
  }
  s.end_pull(0, pull_status::lost);
  CHECK(s.state().from == "");
  while (!s.memory.byte_pulls.empty()) s.end_pull(0, pull_status::lost);
  const auto said = s.told();
  CHECK_FALSE(said.linked);
  CHECK_FALSE(said.busy);
  s.announce(second_source, s.follow(second_source, 1), 1, tiny_chunks);
  s.end_all_pulls();
  CHECK(s.images_are_whole());
}

TEST_CASE("chain link: it goes on from the first chunk that it lacks when its source is lost") {
  link_stage s(3);
  s.announce(first_source, s.follow(first_source), 0, 6);
  s.end_pull();
  s.end_pull();
  CHECK(s.under_way() == chunk_numbers{2, 3, 4});
  s.deliver(node_down{first_source, {39}});  // an earlier incarnation
  CHECK(s.out.silent());
  s.deliver(node_down{first_source, {40}});
  auto said = s.told();
  CHECK(said.busy);
  CHECK_FALSE(said.linked);
  CHECK(said.pulled == 8);
  SUBCASE("pulls end before there is another source") {
    const std::weak_ptr held = std::exchange(s.images, nullptr);
    s.deliver(pulled{s.memory.byte_pulls[0].token, pull_status::lost});
    s.deliver(pulled{s.memory.byte_pulls[1].token, pull_status::lost});
    CHECK_FALSE(held.expired());
    CHECK(s.out.silent());
    s.images = held.lock();
    s.memory.byte_pulls.erase(s.memory.byte_pulls.begin(), s.memory.byte_pulls.begin() + 2);
    s.end_pull();
    said = s.told();
    CHECK_FALSE(said.busy);
    CHECK(s.images.use_count() == 1);
    CHECK(s.images->chunks_ready() == 2);
    s.run_until(s.now + 20ms);
    s.announce(second_source, s.follow(second_source, 2), 2, tiny_chunks);
    CHECK(s.under_way() == chunk_numbers{2, 3, 4});
  }
  SUBCASE("pulls are still under way") {
    s.announce(second_source, s.follow(second_source, 2), 2, tiny_chunks);
    CHECK(s.under_way() == chunk_numbers{2, 3, 4});  // of the former source: they write to the same memory
    for (int i = 0; i < 3; ++i) s.end_pull(0, pull_status::lost);
    s.run_until(s.now + 20ms);
    CHECK(s.under_way() == chunk_numbers{2, 3, 4});
    CHECK(s.state().repeated == 9);  // the window: 2, 4 and 3 bytes
  }
  for (const auto& p : s.memory.byte_pulls) CHECK(p.peer == second_source);
  s.end_all_pulls();
  CHECK(s.images_are_whole());
  CHECK(s.told().repeated <= 3 * tiny_chunk_bytes);
}

TEST_CASE("chain link: other images wait for the pulls that write to the former ones") {
  link_stage s;
  s.announce(first_source, s.follow(first_source), 0, tiny_chunks);
  s.end_pull();
  const auto former = std::exchange(s.images, nullptr);
  s.store.forget({0});
  s.images = s.store.create({0}, 0);
  s.begin(second_source);
  CHECK(s.out.silent());
  s.end_pull();
  CHECK(former->chunks_ready() == 2);
  CHECK(s.memory.byte_pulls.size() == 1);  // no further one of the former images
  CHECK(s.out.silent());
  SUBCASE("then they are pulled") {
    s.end_pull();
    CHECK(former->chunks_ready() == 3);
    CHECK(former.use_count() == 1);
    const auto asked = s.out.one<follow_chunks>();
    CHECK(asked.first == 0);
    const auto said = s.told();
    CHECK(said.linked);
    CHECK(said.from == second_source);
    CHECK(said.pulled == 10);
    s.announce(second_source, asked.follow, 0, tiny_chunks);
    s.end_all_pulls();
    CHECK(s.images_are_whole());
    CHECK(s.told().pulled == 39);
  }
  SUBCASE("unless the shard has given them up") {
    s.deliver(end_link{{0}, ++s.order});
    CHECK(s.told().busy);
    s.end_pull();
    CHECK_FALSE(s.told().busy);
    CHECK(s.left(first_source).size() == 1);
    CHECK(s.out.silent());
    CHECK(former.use_count() == 1);
    CHECK(s.images.use_count() == 1);
  }
}

TEST_CASE("chain link: it leaves a source that has no such images") {
  link_stage s;
  const auto number = s.follow(first_source);
  s.deliver(chunks_ready{{0}, number, true, 0, 0, {}}, s.shard_of(first_source));
  const auto said = s.told();
  CHECK_FALSE(said.busy);
  CHECK_FALSE(said.linked);
  CHECK(s.images.use_count() == 1);
  s.announce(first_source, number, 0, 2);
  CHECK(s.memory.byte_pulls.empty());
}

TEST_CASE("chain link: announcements of former sources are void") {
  link_stage s;
  const auto former = s.follow(first_source);
  const auto number = s.follow(second_source);
  s.announce(first_source, former, 0, 2);
  s.deliver(chunks_ready{{0}, former, true, 0, 0, {}}, s.shard_of(first_source));
  CHECK(s.memory.byte_pulls.empty());
  const auto again = s.follow(first_source);
  CHECK(again > number);
  s.announce(first_source, former, 0, 2);
  CHECK(s.memory.byte_pulls.empty());
  s.announce(first_source, again, 0, 2);
  CHECK(s.under_way() == chunk_numbers{0, 1});
}

TEST_CASE("chain link: it follows no node that is not up, and says so") {
  link_stage s;
  s.begin(node_id{3});
  CHECK_FALSE(s.told().busy);
  s.announce(first_source, s.follow(first_source), 0, 4);
  s.begin(node_id{3});
  auto said = s.told();
  CHECK(said.busy);  // with pulls
  CHECK_FALSE(said.linked);
  s.end_pull();
  CHECK(s.under_way().size() == 1);
  s.end_pull();
  CHECK_FALSE(s.told().busy);
  CHECK(s.state().from.empty());
}

TEST_CASE("chain link: a new incarnation of the source, or of its own node, ends following") {
  link_stage s;
  s.announce(first_source, s.follow(first_source), 0, 1);
  SUBCASE("of the source") {
    s.deliver(node_up{first_source, {41}});
    s.deliver(node_down{first_source, {40}});
  }
  SUBCASE("of its node") {
    s.deliver(new_incarnation{{13}});
    s.deliver(node_up{first_source, {40}});
  }
  CHECK_FALSE(s.told().linked);
  s.end_pull();
  CHECK_FALSE(s.told().busy);
  s.announce(first_source, s.follow(first_source, 1), 1, tiny_chunks);
  s.end_all_pulls();
  CHECK(s.images_are_whole());
}

TEST_CASE("chain link: there is nothing to pull for complete images, or without any") {
  link_stage s;
  write_all_chunks(*s.images);
  s.begin(first_source);
  CHECK_FALSE(s.told().linked);
  s.images.reset();
  s.begin(first_source);
  CHECK_FALSE(s.told().linked);
  CHECK(s.out.silent());
}

TEST_CASE("chain link: an order to end stops further pulls, and is answered when none writes any more") {
  link_stage s;
  s.deliver(end_link{{0}, ++s.order});
  CHECK_FALSE(s.told().busy);
  s.announce(first_source, s.follow(first_source), 0, tiny_chunks);
  s.deliver(end_link{{0}, ++s.order});
  CHECK(s.told().busy);
  s.end_pull();
  CHECK(s.under_way() == chunk_numbers{1});
  CHECK(s.out.silent());
  s.end_pull();
  CHECK_FALSE(s.told().busy);
  CHECK(s.images.use_count() == 1);
}

TEST_CASE("chain link: a source is told when the last pull from it has ended") {
  using numbers = std::vector<uint64_t>;
  link_stage s;
  const auto former = s.follow(first_source);
  s.announce(first_source, former, 0, 2);
  SUBCASE("it has given up the images") {
    s.deliver(chunks_ready{{0}, former, true, 0, 0, {}}, s.shard_of(first_source));
    CHECK(s.left(first_source).empty());
    s.end_pull();
    CHECK(s.left(first_source).empty());
    s.end_pull(0, pull_status::lost);
  }
  SUBCASE("there is another one") {
    s.follow(second_source);
    CHECK(s.left(first_source).empty());
    s.end_all_pulls();
  }
  SUBCASE("the same one is followed again") {
    s.follow(first_source);
    s.end_all_pulls();
  }
  SUBCASE("the link is to end") {
    s.deliver(end_link{{0}, ++s.order});
    s.end_all_pulls();
  }
  SUBCASE("all chunks have come") {
    s.announce(first_source, former, 2, tiny_chunks);
    s.end_all_pulls();
    CHECK(s.images_are_whole());
  }
  CHECK(s.left(first_source) == numbers{former});
  s.run_until(s.now + 1s);
  CHECK(s.left(first_source).empty());
}

TEST_CASE("chain link: a source without pulls is told at once, unless it is down") {
  link_stage s;
  const auto former = s.follow(first_source);
  const auto latest = s.follow(second_source);
  CHECK(s.left(first_source) == std::vector<uint64_t>{former});
  s.deliver(node_down{second_source, {50}});
  CHECK(s.left(second_source).empty());
  s.deliver(node_up{second_source, {51}});
  CHECK(s.follow(second_source) > latest);
  s.deliver(end_link{{0}, ++s.order});
  CHECK(s.left(second_source) == std::vector<uint64_t>{latest + 1});
}
