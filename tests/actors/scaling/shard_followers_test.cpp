// Followers of the images of a parameter shard.
#include <string>

#include "tests/actors/scaling/shard_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("parameter shard: followers learn the chunks that are there, and each later one") {
  shard_stage s;
  s.place(worker_node);
  const auto images = s.images();
  s.write_chunk(*images);
  s.write_chunk(*images);
  s.follow(s.link_of(first_source), 7);
  s.follow(s.link_of(second_source), 3, 2);
  const auto news = s.out.take_addressed<chunks_ready>();
  REQUIRE(news.size() == 1);
  CHECK(news[0].first == s.link_of(first_source));
  CHECK(news[0].second ==
        chunks_ready{{0}, 7, false, *images->offset(), 0, {hash_of(*images, 0), hash_of(*images, 1)}});
  s.write_chunk(*images);
  const auto later = s.out.take_addressed<chunks_ready>();
  REQUIRE(later.size() == 2);
  for (const auto& [_, c] : later) {
    CHECK(c.first == 2);
    CHECK(c.hashes == std::vector{hash_of(*images, 2)});
  }
  CHECK(later[1].second.follow == 3);
  CHECK(s.state().followers == 2);
}

TEST_CASE("parameter shard: a new follow of a node replaces its former one, and the end of a node all") {
  shard_stage s;
  s.place(worker_node);
  const auto images = s.images();
  s.write_chunk(*images);
  s.follow(s.link_of(first_source), 7);
  s.out.forget();
  s.follow(s.link_of(first_source, 2), 1);
  const auto news = s.out.take_addressed<chunks_ready>();
  REQUIRE(news.size() == 1);
  CHECK(news[0].first == s.link_of(first_source, 2));
  CHECK(news[0].second.first == 0);
  s.deliver(node_down{first_source, {1}});
  CHECK(s.state().followers == 1);
  s.deliver(node_down{first_source, {2}});
  CHECK(s.state().followers == 0);
  s.follow(s.link_of(second_source), 1);
  s.deliver(new_incarnation{{13}});
  CHECK(s.state().followers == 0);
}

TEST_CASE("parameter shard: followers are told that images are gone, or cannot be pulled") {
  shard_stage s;
  s.follow(s.link_of(first_source), 7);
  CHECK(s.out.one<chunks_ready>().gone);
  s.place(worker_node);
  s.follow(s.link_of(first_source), 8);
  CHECK(s.out.take<chunks_ready>().empty());
  s.drop();
  const auto gone = s.out.one<chunks_ready>();
  CHECK(gone.gone);
  CHECK(gone.follow == 8);
  CHECK(s.state().followers == 0);
  s.unfollow(s.link_of(first_source), 8);
  s.store.reads.clear();
  CHECK(s.images() == nullptr);
  s.store.in_arena = false;
  s.place(worker_node);
  s.follow(s.link_of(first_source), 9);
  CHECK(s.out.one<chunks_ready>().gone);
}

TEST_CASE(
    "parameter shard: dropped images stay in memory while a follower may have a pull of them under way") {
  shard_stage s;
  s.place(first_source);
  s.write_chunk(*s.images());
  s.follow(s.link_of(second_source), 7);
  s.drop();
  CHECK(s.images() != nullptr);
  CHECK(s.state().models == 0);
  CHECK(s.state().dropped == 192);
  CHECK(s.value_of("troupe_parameter_dropped_bytes") == 192);
  CHECK(s.inventory().images.empty());
  SUBCASE("it has none") { s.unfollow(s.link_of(second_source), 7); }
  SUBCASE("it is down, and suspended, for too long") {
    s.deliver(node_down{second_source, {1}});
    s.run_until(s.now + 30s - 1ms);
    CHECK(s.images() != nullptr);
    s.run_until(s.now + 1ms);
  }
  SUBCASE("it is down, and up again") {
    s.deliver(node_down{second_source, {1}});
    s.deliver(node_up{second_source, {2}});
  }
  SUBCASE("the own node was suspended") {
    s.deliver(new_incarnation{{13}});
    CHECK(s.images() != nullptr);
    s.deliver(node_up{second_source, {1}});
  }
  CHECK(s.images() == nullptr);
  CHECK(s.state().dropped == 0);
}

TEST_CASE("parameter shard: dropped images that an engine uses make no room") {
  shard_stage s;
  s.place(first_source);
  s.begun(first_source);
  s.follow(s.link_of(second_source), 7);
  auto engine = s.images();
  s.drop();
  CHECK(s.state().dropped == 0);
  CHECK(s.value_of("troupe_parameter_dropped_bytes") == 0);
  s.store.forget({0});
  s.store.full = true;
  s.place(first_source);
  CHECK(s.told().problem.find("raise parameter_mb") != std::string::npos);
  engine.reset();
  CHECK(s.state().dropped == 192);
  s.place(first_source);
  CHECK(s.told().problem.empty());
}

TEST_CASE("parameter shard: dropped images whose reader has given up are read again") {
  shard_stage s;
  s.place(worker_node);
  s.write_chunk(*s.images());
  s.follow(s.link_of(second_source), 7);
  CHECK_FALSE(s.store.reads[0].abandoned());
  s.drop();
  CHECK(s.store.reads[0].abandoned());
  s.store.reads.clear();
  const auto dropped = s.images();
  CHECK(dropped != nullptr);  // the follower keeps them
  s.place(worker_node);
  CHECK(s.images() == dropped);
  REQUIRE(s.store.reads.size() == 1);
  write_all_chunks(*s.store.reads[0]);
  s.deliver(images_changed{});
  CHECK(s.told().complete());
}

TEST_CASE("parameter shard: images wait for the room that dropped ones still take, and have no problem") {
  shard_stage s;
  s.place(first_source);
  s.begun(first_source);
  s.follow(s.link_of(second_source), 7);
  s.drop();
  s.store.forget({0});
  s.store.full = true;
  s.place(first_source);
  auto told = s.told();
  CHECK(told.problem.empty());
  CHECK(told.chunks == 0);
  s.unfollow(s.link_of(second_source), 7);
  s.store.full = false;
  s.place(first_source);  // repeated
  s.begun(first_source);
  CHECK(s.told().filling);
}
