// The step scheduler where sequences move between two engines with their keys and values.
#include <algorithm>
#include <map>

#include "policies/common/random.hpp"
#include "tests/policies/llm/step_scheduler_stage.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

scheduler_limits limits_of(bool caches, uint32_t blocks = 16) {
  auto l = small();
  l.blocks = blocks;
  l.prefix_cache = caches;
  return l;
}

/// A stopped sequence on its way.
struct moving {
  step_scheduler::kept_blocks kept;
  new_sequence next;
};

moving leave(engine_with_device& e, const new_sequence& began) {
  moving m{{}, began};
  e.engine.stop(began.id);
  REQUIRE(e.engine.can_take(began.id));
  m.next.prompt = e.tokens(began.id.value);
  m.next.max_tokens -= static_cast<uint32_t>(m.next.prompt.size() - began.prompt.size());
  m.kept = e.engine.take(began.id);
  m.next.offered = m.kept.positions;
  return m;
}

/// Fills the blocks of sequences that have begun; returns how many.
size_t pull(engine_with_device& to, const engine_with_device& from, const moving& m, bool complete = true) {
  const auto all = to.engine.take_arriving();
  for (const auto& a : all) {
    CHECK(a.id == m.next.id);
    REQUIRE_FALSE(a.blocks.empty());
    for (auto i = a.first_block; i < a.blocks.size() && complete; ++i)
      to.device.copy_block(from.device, m.kept.kv.blocks[i], a.blocks[i]);
    to.engine.arrived(a.id, complete);
  }
  return all.size();
}

}  // namespace

TEST_CASE("hand-over: a sequence goes on elsewhere without computing a token again") {
  for (const bool caches : {false, true})
    for (uint32_t steps = 1; steps < 12; ++steps) {
      engine_with_device a(limits_of(caches)), b(limits_of(caches));
      const auto s = sequence_of(1, 11, 8);  // a prompt of two chunks
      REQUIRE(a.engine.add(s) == step_scheduler::refusal::none);
      for (uint32_t i = 0; i < steps && !a.engine.idle(); ++i) a.step();
      if (a.engine.idle()) break;
      auto m = leave(a, s);
      CHECK(a.engine.idle());
      CHECK(a.step() == 0);
      REQUIRE(b.engine.add(m.next) == step_scheduler::refusal::none);
      CHECK(b.engine.uncomputed_tokens() == m.next.prompt.size() - m.kept.positions);
      CHECK(b.step() == 0);  // its keys and values are on their way
      CHECK(b.engine.running() == 1);
      CHECK(pull(b, a, m) == 1);
      CHECK(b.step() == m.next.prompt.size() - m.kept.positions);
      std::vector<token> all = m.next.prompt;
      while (b.engine.running() > 0) {
        all = b.tokens(1);
        b.step();
      }
      all.erase(all.begin(), all.begin() + 11);
      const auto expected = undisturbed(s.prompt, 8, base_model);
      CHECK(std::ranges::equal(all, std::span(expected).first(7)));  // the last one ends it
      a.engine.release(m.kept.kv);
      CHECK(a.engine.blocks().available() == 16);
      CHECK(b.engine.blocks().available() == 16);
    }
}

TEST_CASE("hand-over: a sequence in a step is stopped when the step is done, and keeps its token") {
  engine_with_device a(limits_of(false));
  const auto s = sequence_of(1, 3, 9);
  a.engine.add(s);
  const auto chosen = a.device.run(a.engine.plan());
  a.engine.stop(s.id);
  CHECK_FALSE(a.engine.can_take(s.id));
  CHECK(a.engine.plan().rows() == 0);
  a.device.end_step();
  a.engine.done(chosen);
  CHECK(a.engine.can_take(s.id));
  CHECK(a.tokens(1).size() == 4);
  CHECK(a.engine.users(base_model) == 1);
  auto kept = a.engine.take(s.id);
  CHECK(kept.positions == 3);
  CHECK(kept.kv.blocks.size() == 1);
  CHECK(a.engine.blocks().available() == 15);
  a.engine.release(kept.kv);
  CHECK(a.engine.blocks().available() == 16);
}

TEST_CASE("hand-over: a stopped sequence whose last token comes ends as ever") {
  engine_with_device a(limits_of(false));
  a.engine.add(sequence_of(1, 3, 1));
  const auto chosen = a.device.run(a.engine.plan());
  a.engine.stop(sequence_id{1});
  a.device.end_step();
  a.engine.done(chosen);
  CHECK(a.engine.idle());
  CHECK(a.engine.blocks().available() == 16);
}

TEST_CASE("hand-over: what does not arrive is computed") {
  engine_with_device a(limits_of(true)), b(limits_of(true));
  const auto s = sequence_of(1, 7, 6);
  a.engine.add(s);
  for (int i = 0; i < 3; ++i) a.step();
  const auto m = leave(a, s);
  b.engine.add(m.next);
  CHECK(b.step() == 0);
  pull(b, a, m, false);
  CHECK(b.engine.uncomputed_tokens() == 10);
  CHECK(b.step() == 8);
  CHECK(b.step() == 2);
  CHECK(b.tokens(1).back() == undisturbed(s.prompt, 4, base_model).back());
}

TEST_CASE("hand-over: only blocks that the prefix cache lacks are pulled") {
  engine_with_device a(limits_of(true)), b(limits_of(true));
  const auto s = sequence_of(1, 11, 6);
  for (auto* e : {&a, &b}) {
    e->engine.add(s);
    for (int i = 0; i < 3; ++i) e->step();
  }
  b.engine.cancel(s.id);  // it leaves three full blocks
  const auto m = leave(a, s);
  CHECK(m.kept.positions == 12);
  b.engine.add(m.next);
  b.step();
  const auto begun = b.engine.take_arriving();
  REQUIRE(begun.size() == 1);
  CHECK(begun[0].id == s.id);
  CHECK(begun[0].blocks.empty());  // twelve of thirteen tokens are here
  CHECK(b.engine.running() == 1);
  CHECK(b.engine.take_arriving().empty());
}

TEST_CASE("hand-over: blocks that are being filled stay reserved until that has ended") {
  engine_with_device a(limits_of(false, 4)), b(limits_of(false, 4));
  const auto s = sequence_of(1, 11, 3);
  a.engine.add(s);
  for (int i = 0; i < 2; ++i) a.step();
  const auto m = leave(a, s);
  b.engine.add(m.next);
  b.step();
  REQUIRE(b.engine.take_arriving().size() == 1);
  b.engine.cancel(s.id);
  CHECK_FALSE(b.engine.idle());
  CHECK(b.engine.blocks().available() == 1);
  b.engine.add(sequence_of(2, 7, 2));
  CHECK(b.step() == 0);
  b.engine.arrived(s.id, true);
  CHECK(b.engine.blocks().available() == 4);
  CHECK(b.step() == 7);
}

TEST_CASE("hand-over: a sequence can be stopped while its keys and values arrive, and moves on with them") {
  for (const int how : {0, 1, 2}) {
    engine_with_device a(limits_of(false)), b(limits_of(false));
    const auto s = sequence_of(1, 7, 6);
    a.engine.add(s);
    for (int i = 0; i < 3; ++i) a.step();
    const auto m = leave(a, s);
    b.engine.add(sequence_of(2, 3, 9));
    b.engine.add(m.next);
    b.engine.plan();
    REQUIRE(b.engine.take_arriving().size() == 1);
    b.engine.stop(s.id);
    CHECK_FALSE(b.engine.can_take(s.id));
    if (how == 2) b.engine.fail();
    b.engine.arrived(s.id, how != 1);
    CHECK(b.engine.can_take(s.id));
    auto kept = b.engine.take(s.id);
    CHECK(kept.positions == (how == 0 ? 9 : 0));
    b.engine.release(kept.kv);
    b.engine.cancel(sequence_id{2});
    if (how != 2) {
      b.device.run(b.engine.step());
      b.engine.done({});
    }
    CHECK(b.engine.idle());
    CHECK(b.engine.blocks().available() == 16);
  }
}

TEST_CASE("hand-over: blocks that were computed with an adapter elsewhere are not shared") {
  engine_with_device a(limits_of(true)), b(limits_of(true));
  const adapter_id own{3}, other{5};
  a.engine.adapter_loaded(own);
  b.engine.adapter_loaded(other);
  const auto s = sequence_of(1, 8, 6, own);
  a.engine.add(s);
  for (int i = 0; i < 2; ++i) a.step();
  auto m = leave(a, s);
  m.next.adapter = other;
  m.next.scope.adapter = other;
  b.engine.add(m.next);
  b.engine.plan();
  REQUIRE(b.engine.take_arriving().size() == 1);
  b.engine.arrived(s.id, true);
  CHECK(b.engine.blocks().cached().empty());
  b.engine.plan();
  CHECK(b.engine.blocks().cached().empty());
}

TEST_CASE("hand-over: an arriving sequence counts for the targets of those that begin") {
  engine_with_device b(limits_of(false));
  auto s = sequence_of(1, 7, 6);
  s.offered = 6;
  s.tpot = 3ms;
  b.engine.add(s);
  step_context context;
  context.steps = {1ms, 1ms, 0ms};  // two decodes take as long as the target
  b.engine.plan(context);
  CHECK(b.engine.running() == 1);
  CHECK(b.engine.max_running(context) == 2);
}

TEST_CASE("hand-over: if all keys and values are lost, an arriving sequence is computed from its beginning") {
  engine_with_device a(limits_of(true)), b(limits_of(true));
  const auto s = sequence_of(1, 7, 6);
  a.engine.add(s);
  for (int i = 0; i < 3; ++i) a.step();
  const auto m = leave(a, s);
  b.engine.add(sequence_of(2, 5, 4));
  b.step();
  b.engine.add(m.next);
  b.engine.plan();
  REQUIRE(b.engine.take_arriving().size() == 1);
  b.engine.fail();
  b.engine.arrived(s.id, true);
  CHECK(b.engine.running() == 0);
  CHECK(b.engine.waiting() == 2);
  CHECK(b.engine.uncomputed_tokens() == 10 + 6);
}

TEST_CASE("hand-over: random moves between engines that preempt leave every token as it was") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    random_stream draw(seed, "moves");
    const bool caches = draw() % 2 == 0;
    engine_with_device engines[] = {engine_with_device(limits_of(caches, 10)),
                                    engine_with_device(limits_of(caches, 10))};
    std::map<uint64_t, new_sequence> began;
    std::map<uint64_t, size_t> at;
    std::map<uint64_t, std::vector<token>> said;
    struct lease {
      step_scheduler::kept_blocks kept;
      int turn;
    };
    std::map<uint64_t, lease> leased;
    const auto note = [&](size_t e) {
      for (const auto& [id, s] : began)
        if (at[id] == e)
          if (const auto* t = engines[e].engine.tokens(sequence_id{id}))
            said[id].assign(t->begin() + static_cast<ptrdiff_t>(s.prompt.size()), t->end());
    };
    for (int turn = 0; turn < 400 || !engines[0].engine.idle() || !engines[1].engine.idle(); ++turn) {
      REQUIRE(turn < 2000);
      const size_t e = draw() % 2;
      if (turn < 400 && began.size() < 12 && draw() % 4 == 0) {
        const auto id = began.size() + 1;
        const auto s =
            sequence_of(id, 1 + static_cast<uint32_t>(draw() % 14), 2 + static_cast<uint32_t>(draw() % 9));
        began[id] = s;
        at[id] = e;
        REQUIRE(engines[e].engine.add(s) == step_scheduler::refusal::none);
      }
      engines[e].step();
      note(e);
      for (const auto& a : engines[e].engine.take_arriving()) {
        auto its = leased.extract(a.id.value);
        const bool complete = its && draw() % 4 > 0;
        for (auto i = a.first_block; i < a.blocks.size() && complete; ++i)
          engines[e].device.copy_block(engines[1 - e].device, its.mapped().kept.kv.blocks[i], a.blocks[i]);
        if (its) engines[1 - e].engine.release(its.mapped().kept.kv);
        if (!a.blocks.empty()) engines[e].engine.arrived(a.id, complete);
      }
      for (auto l = leased.begin();
           l != leased.end();) {  // both may wait for blocks that the other one keeps
        const auto id = l->first;
        if (l->second.turn + 100 >= turn) {
          ++l;
          continue;
        }
        engines[1 - at[id]].engine.release(l->second.kept.kv);
        l = leased.erase(l);
      }
      if (turn < 400 && draw() % 5 == 0)
        for (auto& [id, where] : at)
          if (where == e && !leased.contains(id) && engines[e].engine.tokens(sequence_id{id}) != nullptr &&
              said[id].size() + 1 < began[id].max_tokens && draw() % 3 == 0) {
            auto s = began[id];
            auto m = leave(engines[e], s);
            REQUIRE(engines[1 - e].engine.add(m.next) == step_scheduler::refusal::none);
            leased[id] = {m.kept, turn};
            where = 1 - e;
            break;
          }
    }
    for (const auto& [id, s] : began) {
      const auto expected = undisturbed(s.prompt, s.max_tokens, base_model);
      CHECK(std::ranges::equal(said[id], std::span(expected).first(s.max_tokens - 1)));  // the last ends it
    }
    for (auto& [id, l] : leased) engines[1 - at[id]].engine.release(l.kept.kv);
    for (const auto& e : engines) CHECK(e.engine.blocks().available() == 10);
  }
}
