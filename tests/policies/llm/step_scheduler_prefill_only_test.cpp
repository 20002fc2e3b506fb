// Sequences that stop after their next token, for another engine to decode.
#include "policies/common/random.hpp"
#include "tests/policies/llm/step_scheduler_stage.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

new_sequence prefill_of(uint64_t id, uint32_t length, uint32_t generated) {
  auto s = sequence_of(id, length, generated);
  s.prefill_only = true;
  return s;
}

}  // namespace

TEST_CASE("prefill only: a sequence stops after one token, whether or not steps are planned ahead") {
  for (const bool ahead : {false, true}) {
    engine_with_device e(small());
    const auto s = prefill_of(1, 11, 8);  // a prompt of two chunks
    REQUIRE(e.engine.add(s) == step_scheduler::refusal::none);
    e.step();
    CHECK_FALSE(e.engine.can_take(s.id));
    const auto chosen = e.device.run(e.engine.plan());
    if (ahead) CHECK(e.engine.plan().rows() == 0);
    e.device.end_step();
    e.engine.done(chosen);
    REQUIRE(e.engine.can_take(s.id));
    CHECK(e.engine.plan().rows() == 0);
    CHECK(e.tokens(1).size() == 12);
    CHECK(e.tokens(1).back() == undisturbed(s.prompt, 1, base_model)[0]);
    auto kept = e.engine.take(s.id);
    CHECK(kept.positions == 11);
    CHECK(kept.kv.blocks.size() == 3);
    e.engine.release(kept.kv);
    CHECK(e.engine.blocks().available() == 16);
    CHECK(e.engine.idle());
  }
}

TEST_CASE("prefill only: a sequence of which all but the last token is cached stops after one token, too") {
  auto l = small();
  l.prefix_cache = true;
  engine_with_device e(l);
  REQUIRE(e.engine.add(sequence_of(1, 9, 1)) == step_scheduler::refusal::none);
  while (e.step() > 0) continue;
  auto s = prefill_of(2, 9, 5);
  s.prompt = sequence_of(1, 9, 1).prompt;
  REQUIRE(e.engine.add(s) == step_scheduler::refusal::none);
  CHECK(e.step() == 1);
  CHECK(e.engine.can_take(s.id));
  CHECK(e.step() == 0);
}

TEST_CASE("prefill only: a sequence of one token ends") {
  engine_with_device e(small());
  REQUIRE(e.engine.add(prefill_of(1, 3, 1)) == step_scheduler::refusal::none);
  e.step();
  CHECK(e.engine.idle());
}

TEST_CASE("prefill only: a stopped sequence keeps its blocks unless one that waits could not begin") {
  for (const uint32_t blocks : {4u, 3u}) {
    auto l = small();
    l.blocks = blocks;
    engine_with_device e(l);
    const auto first = prefill_of(1, 5, 3), second = prefill_of(2, 6, 3);  // two blocks each
    REQUIRE(e.engine.add(first) == step_scheduler::refusal::none);
    e.step();
    REQUIRE(e.engine.can_take(first.id));
    REQUIRE(e.engine.add(second) == step_scheduler::refusal::none);
    CHECK(e.step() == 6);
    REQUIRE(e.engine.can_take(second.id));
    auto kept = e.engine.take(first.id);
    CHECK(kept.positions == (blocks == 4 ? 5 : 0));
    e.engine.release(kept.kv);
    kept = e.engine.take(second.id);
    CHECK(kept.positions == 6);
    e.engine.release(kept.kv);
    CHECK(e.engine.blocks().available() == blocks);
  }
}

TEST_CASE("prefill only: blocks are lost with all keys and values") {
  engine_with_device e(small());
  const auto s = prefill_of(1, 5, 3);
  REQUIRE(e.engine.add(s) == step_scheduler::refusal::none);
  REQUIRE(e.engine.add(sequence_of(2, 5, 3)) == step_scheduler::refusal::none);
  e.step();
  REQUIRE(e.engine.can_take(s.id));
  e.engine.plan();
  e.engine.fail();
  REQUIRE(e.engine.can_take(s.id));
  CHECK(e.engine.take(s.id).positions == 0);
}
