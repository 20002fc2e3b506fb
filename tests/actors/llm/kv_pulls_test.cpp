#include "actors/llm/kv_pulls.hpp"

#include "tests/actors/llm/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct pulling_device final : scripted_engine_device {
  llm::kv_cache_memory kv_memory() override { return {memory, {}}; }
  std::vector<std::byte> memory = std::vector<std::byte>(64 * 32);
};

kv_offer offer_of(std::vector<kv_part> parts, uint64_t generation = 1) {
  kv_offer o;
  o.lease = {other_node, {13}, memory_kind::host, 64, 0, generation};
  o.engine = engine_id{1};
  o.first_block = 4096;
  o.block_bytes = 32;
  o.block_tokens = 4;
  o.parts = std::move(parts);
  return o;
}

struct pulls_stage {
  /// A sequence of these blocks has begun, of which the first are here already.
  void begin(uint64_t request, uint32_t choice, uint64_t sequence, std::vector<uint32_t> blocks, size_t first,
             size_t positions) {
    pulls.begin(request_id{request}, choice, {llm::sequence_id{sequence}, first, positions, blocks},
                device.memory);
  }
  std::optional<kv_pulls::ended> end(pull_status how = pull_status::ok) {
    REQUIRE(!memory.leased_pulls.empty());
    const auto token = memory.leased_pulls.front().token;
    memory.leased_pulls.erase(memory.leased_pulls.begin());
    return pulls.on_pulled({token, how});
  }
  scripted_memory memory{worker_node};
  pulling_device device;
  kv_pulls pulls{the_engine, memory};
};

}  // namespace

TEST_CASE("kv pulls: a pull takes the blocks that are missing, each to its place") {
  pulls_stage s;
  s.pulls.expect(request_id{1}, offer_of({{0, 10, {3, 8, 6}}}));
  s.begin(1, 0, 5, {20, 21, 22}, 1, 10);
  REQUIRE(s.memory.leased_pulls.size() == 1);
  const auto& p = s.memory.leased_pulls[0];
  CHECK(p.lease.generation == 1);
  CHECK(p.to == the_engine);
  REQUIRE(p.ranges.size() == 2);
  CHECK(p.ranges[0].offset == 4096 + 8 * 32);
  CHECK(p.ranges[0].into.data() == s.device.memory.data() + 21 * 32);
  CHECK(p.ranges[1].offset == 4096 + 6 * 32);
  CHECK(p.ranges[1].into.size() == 32);
  CHECK(s.pulls.take_unused().empty());
  const auto end = s.end();
  REQUIRE(end);
  CHECK(end->sequence == llm::sequence_id{5});
  CHECK(end->blocks == std::vector<uint32_t>{21, 22});
  CHECK(end->complete);
  CHECK(s.pulls.done().positions == 6);
  CHECK(s.pulls.done().bytes == 64);
  REQUIRE(s.pulls.take_unused().size() == 1);
  CHECK_FALSE(s.pulls.on_pulled({99, pull_status::ok}));
}

TEST_CASE("kv pulls: an offer is used until all of its choices have been pulled") {
  pulls_stage s;
  s.pulls.expect(request_id{1}, offer_of({{0, 4, {1}}, {1, 4, {2}}}));
  s.begin(1, 0, 5, {20}, 0, 4);
  CHECK(s.end(pull_status::stale)->complete == false);
  CHECK(s.pulls.done().failed == 1);
  CHECK(s.pulls.take_unused().empty());
  s.begin(1, 1, 6, {21}, 0, 4);
  CHECK(s.end()->complete);
  CHECK(s.pulls.take_unused().size() == 1);
}

TEST_CASE("kv pulls: an offer whose choices do without it is over at once") {
  pulls_stage s;
  s.pulls.expect(request_id{1}, offer_of({{0, 4, {1}}, {1, 4, {2}}}));
  s.pulls.skip(request_id{1});
  CHECK(s.pulls.take_unused().empty());
  s.begin(1, 1, 6, {21}, 0, 4);
  CHECK(s.pulls.take_unused().empty());
  CHECK(s.end());
  CHECK(s.pulls.take_unused().size() == 1);
  s.pulls.expect(request_id{2}, offer_of({{0, 4, {1}}}));
  s.pulls.skip(request_id{2});
  CHECK(s.pulls.take_unused().size() == 1);
}

TEST_CASE("kv pulls: an offer of a request that has ended is used until its pull has ended") {
  pulls_stage s;
  s.pulls.expect(request_id{1}, offer_of({{0, 4, {1}}, {1, 4, {2}}}));
  s.begin(1, 0, 5, {20}, 0, 4);
  s.pulls.forget(request_id{1});
  CHECK(s.pulls.take_unused().empty());
  s.pulls.expect(request_id{1}, offer_of({{0, 4, {1}}}, 2));  // it has come back
  CHECK(s.end());
  auto unused = s.pulls.take_unused();
  REQUIRE(unused.size() == 1);
  CHECK(unused[0].lease.generation == 1);
  s.pulls.forget(request_id{1});
  unused = s.pulls.take_unused();
  REQUIRE(unused.size() == 1);
  CHECK(unused[0].lease.generation == 2);
  s.pulls.refuse(offer_of({}));
  CHECK(s.pulls.take_unused().size() == 1);
}

TEST_CASE("kv pulls: offers of other layouts, and offers without all of their blocks, do not fit") {
  pulls_stage s;
  auto facts = scripted_engine_device::facts(64);
  facts.block_bytes = 32;
  const auto fits = [&](const kv_offer& o) { return kv_pulls::fits(o, s.device, facts); };
  const auto good = offer_of({{0, 8, {1, 2}}});
  CHECK(fits(good));
  auto o = good;
  o.block_bytes = 16;
  CHECK_FALSE(fits(o));
  o = good;
  o.block_tokens = 8;
  CHECK_FALSE(fits(o));
  o = good;
  o.lease = {};
  CHECK_FALSE(fits(o));
  CHECK_FALSE(fits(offer_of({})));
  CHECK_FALSE(fits(offer_of({{0, 9, {1, 2}}})));
  CHECK_FALSE(fits(offer_of({{0, 0, {}}})));
  scripted_engine_device elsewhere;  // its cache is not in this process
  CHECK_FALSE(kv_pulls::fits(good, elsewhere, facts));
}

TEST_CASE("kv pulls: the offer of a request that has not begun can be taken, once") {
  pulls_stage s;
  const auto offer = offer_of({{0, 4, {3}}, {1, 4, {8}}});
  s.pulls.expect(request_id{1}, offer);
  CHECK_FALSE(s.pulls.take(request_id{2}));
  CHECK(s.pulls.take(request_id{1}) == offer);
  CHECK_FALSE(s.pulls.take(request_id{1}));
  s.pulls.expect(request_id{1}, offer);
  s.begin(1, 0, 5, {20}, 0, 4);
  CHECK_FALSE(s.pulls.take(request_id{1}));
  CHECK(s.pulls.take_unused().empty());
}
