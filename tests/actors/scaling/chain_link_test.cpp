#include "actors/scaling/chain_link.hpp"

#include <algorithm>

#include "tests/actors/run_command.hpp"
#include "tests/actors/scaling/image_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr uint64_t source_offset = 5000;  // of the images in the source's memory

struct link_parts {
  cluster_spec cluster;
  tiny_image_store store;
  scripted_memory memory{worker_node};

  link_parts() {
    cluster.llms.resize(1);
    cluster.llms[0].name = "m";
    for (uint32_t i = 0; i < 6; ++i) cluster.nodes.emplace_back().name = "n" + std::to_string(i);
  }
};

/// A link whose node has empty images of the model, with two sources that are up.
struct link_stage : link_parts, stage<chain_link> {
  explicit link_stage(uint32_t window = 2)
      : stage({worker_node, {12}, role::chain_link, 0}, window, cluster, memory, store) {
    deliver(node_up{first_source, {40}});
    deliver(node_up{second_source, {50}});
  }
  static address shard_of(node_id n) { return {n, {n.value * uint64_t{10}}, role::parameter_shard, 0}; }

  void begin(node_id from) { deliver(begin_link{{0}, from, ++order}); }
  /// Begins, and checks what the source is asked for.
  uint64_t follow(node_id from, uint32_t first = 0) {
    begin(from);
    const auto asked = out.take_addressed<follow_chunks>();
    REQUIRE(asked.size() == 1);
    CHECK(asked[0].first == address{from, {}, role::parameter_shard, 0});
    CHECK(asked[0].second.first == first);
    CHECK(told().linked);
    return asked[0].second.follow;
  }
  void announce(node_id by, uint64_t number, uint32_t first, uint32_t end) {
    chunks_ready c{{0}, number, false, source_offset, first, {}};
    for (auto i = first; i < end; ++i) c.hashes.push_back(hash_of(*images, i));
    deliver(c, shard_of(by));
  }
  /// Chunks that are being pulled.
  std::vector<uint32_t> under_way() const {
    std::vector<uint32_t> out_;
    for (const auto& p : memory.byte_pulls)
      for (uint32_t c = 0; c < tiny_chunks; ++c)
        if (p.offset == source_offset + images->offset_of(c)) out_.push_back(c);
    return out_;
  }
  void end_pull(size_t which = 0, pull_status status = pull_status::ok, bool damaged = false) {
    REQUIRE(which < memory.byte_pulls.size());
    const auto p = memory.byte_pulls[which];
    memory.byte_pulls.erase(memory.byte_pulls.begin() + static_cast<int64_t>(which));
    for (size_t i = 0; status == pull_status::ok && i < p.into.size(); ++i)
      p.into[i] = image_pattern(p.offset - source_offset + i + (damaged ? 1 : 0));
    deliver(pulled{p.token, status});
  }
  void end_all_pulls() {
    while (!memory.byte_pulls.empty()) end_pull();
  }
  /// The latest news for the shard.
  link_changed told() {
    const auto all = out.take_addressed<link_changed>();
    REQUIRE(!all.empty());
    CHECK(all.back().first == address{worker_node, {}, role::parameter_shard, 0});
    CHECK(all.back().second.order == order);
    return all.back().second;
  }
  link_state state() {
    const auto s = run_command<chain_link_state>(*this, get_state{});
    REQUIRE(s.links.size() == 1);
    return s.links[0];
  }
  bool images_are_whole() const {
    for (uint32_t c = 0; c < tiny_chunks; ++c)
      if (!std::ranges::equal(images->chunk_memory(c), pattern_of(*images, c))) return false;
    return images->complete();
  }

  std::shared_ptr<llm::image_set> images = store.create({0}, 0);
  uint64_t order = 0;
};

using chunk_numbers = std::vector<uint32_t>;

}  // namespace

TEST_CASE("chain link: it pulls chunks in their order, a window at a time, and is done with the last one") {
  link_stage s;
  const auto number = s.follow(first_source);
  CHECK(s.memory.byte_pulls.empty());
  s.announce(first_source, number, 0, tiny_chunks);
  CHECK(s.under_way() == chunk_numbers{0, 1});
  CHECK(s.memory.byte_pulls[0].peer == first_source);
  CHECK(s.memory.byte_pulls[0].into.size() == tiny_chunk_bytes);
  s.end_pull();
  CHECK(s.under_way() == chunk_numbers{1, 2});
  CHECK(s.images->chunks_ready() == 1);
  CHECK(s.state().from == "n4");
  CHECK(s.state().in_flight == 2);
  s.end_all_pulls();
  CHECK(s.images_are_whole());
  for (uint32_t c = 0; c < tiny_chunks; ++c) CHECK(s.images->hash(c) == hash_of(*s.images, c));
  const auto said = s.told();
  CHECK_FALSE(said.busy);
  CHECK_FALSE(said.linked);
  CHECK(said.pulled == 29);
  CHECK(said.repeated == 0);
  CHECK(s.images.use_count() == 1);
  CHECK(s.value_of("troupe_chain_bytes_pulled_total") == 29);
  CHECK(s.state().chunks == 0);
}

TEST_CASE("chain link: chunks become ready in their order, although pulls end in another one") {
  link_stage s;
  s.announce(first_source, s.follow(first_source), 0, 3);
  s.end_pull(1);
  CHECK(s.under_way() == chunk_numbers{0, 2});
  CHECK(s.images->chunks_ready() == 0);
  s.end_pull(1);
  s.end_pull(0);
  CHECK(s.images->chunks_ready() == 3);
  CHECK(s.images->ready() == 1);
}

TEST_CASE("chain link: it pulls what is announced while it pulls") {
  link_stage s;
  const auto number = s.follow(first_source);
  s.announce(first_source, number, 0, 1);
  CHECK(s.under_way() == chunk_numbers{0});
  s.announce(first_source, number, 1, 2);
  CHECK(s.under_way() == chunk_numbers{0, 1});
  s.announce(first_source, number, 2, 5);
  CHECK(s.under_way().size() == 2);
  s.end_all_pulls();
  CHECK(s.images->chunks_ready() == 5);
  s.announce(first_source, number, 5, 8);
  s.end_all_pulls();
  CHECK(s.images_are_whole());
}

TEST_CASE("chain link: a chunk with a wrong hash is pulled again, and never ready") {
  link_stage s;
  s.announce(first_source, s.follow(first_source), 0, 2);
  s.end_pull(0, pull_status::ok, true);
  CHECK(s.images->chunks_ready() == 0);
  s.end_pull();  // the next one is right
  CHECK(s.images->chunks_ready() == 0);
  CHECK(s.memory.byte_pulls.empty());
  s.run_until(s.now + 19ms);
  CHECK(s.memory.byte_pulls.empty());
  s.run_until(s.now + 1ms);
  CHECK(s.under_way() == chunk_numbers{0});
  s.end_pull(0, pull_status::ok, true);
  CHECK(s.images->chunks_ready() == 0);
  s.run_until(s.now + 20ms);
  s.end_pull();
  CHECK(s.images->chunks_ready() == 2);
  CHECK(s.state().damaged == 2);
  CHECK(s.state().repeated == 8);
  CHECK(s.state().pulled == 8);
}

TEST_CASE("chain link: after a pull that failed it waits, then pulls the same chunk again") {
  link_stage s;
  s.announce(first_source, s.follow(first_source), 0, tiny_chunks);
  s.end_pull(0, pull_status::lost);
  CHECK(s.under_way() == chunk_numbers{1});
  s.end_pull();
  CHECK(s.under_way().empty());
  s.run_until(s.now + 20ms);
  CHECK(s.under_way() == chunk_numbers{0, 2});
  s.end_all_pulls();
  CHECK(s.images_are_whole());
  CHECK(s.told().repeated == 4);
}

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

TEST_CASE("chain_link: without memory of the machine it pulls nothing, and the images have failed") {
  link_stage s;
  const auto number = s.follow(first_source);
  s.store.machine_has_memory = false;
  s.announce(first_source, number, 0, tiny_chunks);
  CHECK(s.memory.byte_pulls.empty());
  CHECK(s.images->failed());
  const auto told = s.told();
  CHECK(!told.linked);
  CHECK(!told.busy);
}
