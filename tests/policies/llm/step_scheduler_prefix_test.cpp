// The step scheduler with a prefix cache.
#include <algorithm>
#include <utility>

#include "policies/llm/sequence_batch.hpp"
#include "tests/policies/llm/step_scheduler_stage.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

scheduler_limits caching(uint32_t blocks = 16, uint32_t block_tokens = 4) {
  return {.max_sequences = 4,
          .prefill_chunk = 64,
          .blocks = blocks,
          .block_tokens = block_tokens,
          .prefix_cache = true};
}

/// A scheduler with its device.
struct caching_engine {
  explicit caching_engine(const scheduler_limits& l) : engine(l), device(l) {}

  /// Runs a step; returns its rows.
  uint32_t step() {
    const auto& s = engine.plan();
    const auto rows = s.rows();
    if (rows == 0) return 0;
    auto chosen = device.run(s);
    device.end_step();
    engine.done(chosen);
    return rows;
  }
  /// Runs a sequence to its end. Returns its rows.
  uint32_t run(new_sequence s) {
    REQUIRE(engine.add(std::move(s)) == step_scheduler::refusal::none);
    uint32_t rows = 0;
    while (const auto n = step()) rows += n;
    REQUIRE(engine.idle());
    return rows;
  }

  step_scheduler engine;
  fake_device device;
};

new_sequence like(const new_sequence& s, uint64_t id) {
  auto out = s;
  out.id = sequence_id{id};
  return out;
}

}  // namespace

TEST_CASE("prefix cache: a chat of ten turns reads each token once") {
  for (const uint32_t block_tokens : {1u, 4u, 16u}) {
    caching_engine e(caching(1024 / block_tokens, block_tokens));
    std::vector<token> chat;
    uint32_t rows = 0, prompts = 0;
    for (uint64_t turn = 1; turn <= 10; ++turn) {
      for (token i = 0; i < 13; ++i) chat.push_back(static_cast<token>(1000 * turn) + i);
      prompts += static_cast<uint32_t>(chat.size());
      rows += e.run({sequence_id{turn}, chat, 9, base_model});
      for (const auto t : undisturbed(chat, 9, base_model)) chat.push_back(t);
    }
    // of the last block of a turn, which is not full, the next turn computes the tokens again
    CHECK(rows >= chat.size() - 1);
    CHECK(rows <= chat.size() - 1 + 9 * (block_tokens - 1));
    CHECK(e.engine.cache_use().queried == prompts);
    CHECK(e.engine.cache_use().hit >= prompts - 10 * 13 - 9 * block_tokens);
    CHECK(e.engine.blocks().available() == 1024 / block_tokens);
  }
}

TEST_CASE("prefix cache: sequences that begin in one step compute their common blocks once") {
  caching_engine e(caching());
  const auto s = sequence_of(1, 10, 5);
  e.engine.add(s);
  e.engine.add(like(s, 2));
  e.engine.add(like(s, 3));
  const auto& step = e.engine.plan();
  CHECK(step.rows() == 10 + 2 + 2);
  CHECK(step.sampled.size() == 3);
  CHECK(e.engine.cache_use().hit == 16);
  const auto chosen = e.device.run(step);
  for (const auto& c : chosen) CHECK(c.chosen == undisturbed(s.prompt, 1, base_model).front());
  e.engine.done(chosen);
  CHECK(e.engine.blocks().available() == 16 - 5);
}

TEST_CASE("prefix cache: a prompt of which only the last token is new begins at once, as a decode") {
  caching_engine e(caching());
  e.run(sequence_of(1, 9, 2));
  e.engine.add(like(sequence_of(1, 9, 2), 2));
  CHECK(e.engine.uncomputed_tokens() == 1);
  const auto& step = e.engine.plan();
  CHECK(step.rows() == 1);
  CHECK(step.positions == std::vector{8u});
  CHECK(e.engine.decodes_of_step() == 1);
  CHECK(e.engine.cached_tokens(sequence_id{2}) == 8);
  const auto chosen = e.device.run(step);
  CHECK(chosen.at(0).chosen == undisturbed(sequence_of(1, 9, 2).prompt, 1, base_model).front());
}

TEST_CASE("prefix cache: other scopes and adapters compute their own blocks") {
  caching_engine e(caching());
  e.engine.adapter_loaded(adapter_id{1});
  auto s = sequence_of(1, 9, 1);
  CHECK(e.run(s) == 9);
  CHECK(e.run(like(s, 2)) == 1);
  s.scope.of = "tenant/salt";
  CHECK(e.run(like(s, 3)) == 9);
  s.adapter = s.scope.adapter = adapter_id{1};
  CHECK(e.run(like(s, 4)) == 9);
  CHECK(e.run(like(s, 5)) == 1);
  e.engine.drop_cached(adapter_id{1});
  CHECK(e.run(like(s, 6)) == 9);
}

TEST_CASE("prefix cache: cached blocks are evicted before a sequence is preempted") {
  caching_engine e(caching(8));
  e.run(sequence_of(1, 16, 1));
  CHECK(e.engine.blocks().evictable() == 4);
  CHECK(e.run(sequence_of(2, 8, 24)) == 8 + 23);
  CHECK(e.engine.preemptions() == 0);
  CHECK(e.engine.blocks().available() == 8);
  CHECK(e.run(like(sequence_of(1, 16, 1), 3)) == 16);
}

TEST_CASE("prefix cache: a preempted sequence finds its blocks again if nobody took them") {
  caching_engine e(caching(8));
  e.engine.add(sequence_of(1, 12, 8));
  e.engine.add(sequence_of(2, 11, 8));
  uint32_t rows = 0;
  while (const auto n = e.step()) rows += n;
  CHECK(e.engine.preemptions() == 1);
  CHECK(rows < 12 + 7 + 11 + 7 + 8);  // without a cache it would compute at least 14 tokens again
  CHECK(e.engine.blocks().available() == 8);
}

TEST_CASE("prefix cache: a failed step voids all cached blocks") {
  caching_engine e(caching());
  CHECK(e.run(sequence_of(1, 9, 1)) == 9);
  e.engine.add(like(sequence_of(1, 9, 1), 2));
  CHECK(e.engine.uncomputed_tokens() == 1);
  CHECK(e.engine.plan().rows() == 1);
  e.engine.fail();
  CHECK(e.engine.uncomputed_tokens() == 9);
  CHECK(e.engine.blocks().evictable() == 0);
  CHECK(e.engine.plan().rows() == 9);
}

TEST_CASE("prefix cache: invalid logits void the blocks of their scope") {
  caching_engine e(caching());
  e.run(sequence_of(1, 9, 1));
  e.engine.add(like(sequence_of(1, 9, 3), 2));
  auto chosen = e.device.run(e.engine.plan());
  chosen.at(0).valid = false;
  chosen.at(0).last = true;
  e.engine.done(chosen);
  CHECK(e.engine.blocks().evictable() == 0);
  CHECK(e.run(like(sequence_of(1, 9, 1), 3)) == 9);
}

TEST_CASE(
    "prefix cache: a sequence whose blocks are cached is not late, even if others computed them since") {
  auto limits = caching(64);
  caching_engine e(limits);
  step_context context{.now = time_point{10s}, .steps = {1ms, 0ms, 1ms}};
  e.engine.add(sequence_of(1, 32, 20));
  auto other = like(sequence_of(1, 32, 1), 2);
  other.due = context.now + 20ms;  // 32 ms without the cache
  REQUIRE(e.engine.plan(context).rows() == 32);
  e.engine.add(other);
  e.engine.done(e.device.run(e.engine.step()));
  e.engine.plan(context);
  CHECK(e.engine.late().empty());
  CHECK(e.engine.running() == 2);
}

TEST_CASE("prefix cache: the first token of a sequence says how much of its prompt was cached") {
  sequence_batch b(caching());
  const auto id = b.add({.prompt = sequence_of(1, 9, 1).prompt, .max_tokens = 2}).id;
  const auto chosen = [](token t) {
    chosen_token c;
    c.which = t;
    c.valid = true;
    return std::vector{c};
  };
  b.plan();
  CHECK(b.done(chosen(5))[0].cached == 0);
  b.plan();
  CHECK(b.done(chosen(6))[0].sequence == id);
  b.add({.prompt = sequence_of(1, 9, 1).prompt, .max_tokens = 2});
  b.plan();
  CHECK(b.done(chosen(5))[0].cached == 8);
  b.plan();
  CHECK(b.done(chosen(6))[0].cached == 0);  // it was said
}
