#include <algorithm>
#include <deque>
#include <map>
#include <optional>

#include "tests/policies/llm/step_scheduler_stage.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

using completion_refusal = step_scheduler::refusal;

}  // namespace

TEST_CASE("a step mixes prompts with a token of every sequence that is being generated") {
  step_scheduler engine(small());
  fake_device device(small());
  REQUIRE(engine.add(sequence_of(1, 3, 10)) == completion_refusal::none);
  REQUIRE(engine.add(sequence_of(2, 5, 10)) == completion_refusal::none);
  REQUIRE(engine.add(sequence_of(3, 6, 10)) == completion_refusal::none);
  CHECK(engine.uncomputed_tokens() == 14);
  const auto& first = engine.plan();  // eight tokens of prompts at most
  CHECK(first.sequences == std::vector{sequence_id{1}, sequence_id{2}});
  CHECK(first.sampled == std::vector<uint32_t>{2, 7});
  CHECK(engine.decodes_of_step() == 0);
  engine.done(device.run(first));
  const auto& step = engine.plan();
  CHECK(step.rows() == 6 + 1 + 1);
  CHECK(step.sequences == std::vector{sequence_id{3}, sequence_id{1}, sequence_id{2}});
  CHECK(step.sampled == std::vector<uint32_t>{5, 6, 7});
  CHECK(step.positions == std::vector<uint32_t>{0, 1, 2, 3, 4, 5, 3, 5});
  CHECK(engine.decodes_of_step() == 2);
}

TEST_CASE("the last prompt of a full step is split, and continues first in the next step") {
  step_scheduler engine(small());
  fake_device device(small());
  engine.add(sequence_of(1, 3, 10));
  engine.add(sequence_of(2, 9, 10));
  engine.add(sequence_of(3, 2, 10));
  engine.done(device.run(engine.plan()));
  CHECK(engine.uncomputed_tokens() == 4 + 2);
  const auto& step = engine.plan();
  CHECK(step.sequences == std::vector{sequence_id{2}, sequence_id{3}, sequence_id{1}});
  CHECK(step.sampled == std::vector<uint32_t>{3, 5, 6});
}

TEST_CASE("a long prompt is prefilled in chunks beside the decodes of others") {
  step_scheduler engine(small());
  fake_device device(small());
  engine.add(sequence_of(1, 3, 20));
  engine.done(device.run(engine.plan()));
  engine.add(sequence_of(2, 20, 5));
  std::vector<uint32_t> rows;
  for (int i = 0; i < 4; ++i) {
    const auto& step = engine.plan();
    rows.push_back(step.rows());
    engine.done(device.run(step));
  }
  CHECK(rows == std::vector<uint32_t>{8 + 1, 8 + 1, 4 + 1, 2});
}

TEST_CASE("rows are grouped by adapter, and decodes begin with the prefill's adapter") {
  step_scheduler engine(small());
  fake_device device(small());
  const adapter_id a{1}, b{2};
  engine.adapter_loaded(a);
  engine.adapter_loaded(b);
  engine.add(sequence_of(1, 2, 9, a));
  engine.add(sequence_of(2, 2, 9, b));
  engine.add(sequence_of(3, 2, 9, a));
  CHECK(engine.plan().segment_end == std::vector<uint32_t>{0, 4, 6});  // prompts, too
  engine.done(device.run(engine.step()));
  engine.add(sequence_of(4, 2, 9, b));
  const auto& step = engine.plan();
  CHECK(step.segment_adapters == std::vector{b, a});
  CHECK(step.segment_end ==
        std::vector<uint32_t>{0, 3, 5});  // two of the prefill, sequence 2, then sequences 1 and 3
}

TEST_CASE("a sequence with a missing adapter delays no other sequence") {
  step_scheduler engine(small());
  fake_device device(small());
  engine.add(sequence_of(1, 2, 5, adapter_id{7}));
  engine.add(sequence_of(2, 2, 5));
  CHECK(engine.wanted_adapters(8) == std::vector{adapter_id{7}});
  const auto& step = engine.plan();
  CHECK(step.sequences == std::vector{sequence_id{2}});
  engine.done(device.run(step));
  engine.adapter_loaded(adapter_id{7});
  CHECK(engine.wanted_adapters(8).empty());
  CHECK(engine.plan().sequences == std::vector{sequence_id{1}, sequence_id{2}});
  CHECK(engine.users(adapter_id{7}) == 1);
}

TEST_CASE(
    "adapters are wanted in the order of their sequences, also those that are there if they are needed "
    "earlier") {
  auto limits = small();
  limits.max_sequences = 1;
  step_scheduler engine(limits);
  engine.add(sequence_of(1, 2, 5));
  engine.plan();  // only one may run
  for (const uint32_t a : {0, 4, 2, 4, 9, 5, 3})
    engine.add(sequence_of(10 + engine.waiting(), 2, 5, adapter_id{a}));
  const auto wanted = [&](size_t limit) {
    std::vector<uint32_t> ids;
    for (const auto a : engine.wanted_adapters(limit)) ids.push_back(a.value);
    return ids;
  };
  using ids = std::vector<uint32_t>;
  CHECK(wanted(8) == ids{4, 2, 9, 5, 3});
  for (const uint32_t a : {4, 9, 3}) engine.adapter_loaded(adapter_id{a});
  CHECK(wanted(8) == ids{4, 2, 9, 5});
  CHECK(wanted(2) == ids{4, 2, 9, 5});
  CHECK(wanted(1) == ids{4, 2});
  CHECK(wanted(0).empty());
}

TEST_CASE("a request that can never run is refused at once") {
  auto limits = small();
  limits.max_waiting = 1;
  step_scheduler engine(limits);
  CHECK(engine.add(sequence_of(1, 0, 5)) == completion_refusal::empty);
  CHECK(engine.add(sequence_of(1, 5, 0)) == completion_refusal::empty);
  CHECK(engine.add(sequence_of(1, 60, 6)) == completion_refusal::too_long);
  CHECK(engine.add(sequence_of(1, 60, 5)) == completion_refusal::none);  // its last token needs no KV entry
  CHECK(engine.add(sequence_of(2, 1, 1)) == completion_refusal::queue_full);
}

TEST_CASE("a sequence that asks for more tokens than can be counted is too long, not short") {
  step_scheduler engine({.blocks = 16, .block_tokens = 1});
  CHECK(engine.add(sequence_of(1, 3, UINT32_MAX)) == completion_refusal::too_long);
}

TEST_CASE("a sequence without a chosen token ends, and the others continue") {
  step_scheduler engine(small());
  fake_device device(small());
  engine.add(sequence_of(1, 3, 9));
  engine.add(sequence_of(2, 3, 9));
  engine.done(device.run(engine.plan()));
  auto chosen = device.run(engine.plan());
  std::erase_if(chosen, [](const auto& c) { return c.sequence == sequence_id{2}; });
  engine.done(chosen);
  CHECK(engine.tokens(sequence_id{2}) == nullptr);
  CHECK(engine.plan().sequences == std::vector{sequence_id{1}});
}

TEST_CASE("the newest sequence is preempted when KV blocks run out, and resumes before later ones") {
  step_scheduler engine({.max_sequences = 4, .prefill_chunk = 64, .blocks = 8, .block_tokens = 4});
  fake_device device({.max_sequences = 4, .prefill_chunk = 64, .blocks = 8, .block_tokens = 4});
  engine.add(sequence_of(1, 7, 20));
  engine.add(sequence_of(2, 7, 20));
  engine.add(sequence_of(3, 7, 20));
  std::vector<sequence_id> ended;
  bool second_before_third = true;
  for (int i = 0; i < 200 && !engine.idle(); ++i) {
    const auto& step = engine.plan();
    const auto runs = [&](uint64_t id) {
      return std::find(step.sequences.begin(), step.sequences.end(), sequence_id{id}) != step.sequences.end();
    };
    if (runs(3) && !runs(2) && engine.tokens(sequence_id{2}) != nullptr) second_before_third = false;
    engine.done(device.run(step));
    for (uint64_t id = 1; id <= 3; ++id)
      if (engine.tokens(sequence_id{id}) == nullptr &&
          std::find(ended.begin(), ended.end(), sequence_id{id}) == ended.end())
        ended.push_back(sequence_id{id});
  }
  CHECK(engine.preemptions() > 0);
  CHECK(second_before_third);
  CHECK(ended == std::vector{sequence_id{1}, sequence_id{2}, sequence_id{3}});
  CHECK(engine.blocks().available() == 8);
}

TEST_CASE("every sequence has the same tokens as alone, beside any other sequences") {
  uint64_t steps_ahead = 0, cached = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    random_stream random(seed, "continuous batching");
    const auto draw = [&](uint64_t min, uint64_t max) {
      return static_cast<uint32_t>(min + random() % (max - min + 1));
    };
    const scheduler_limits limits{.max_sequences = draw(1, 8),
                                  .prefill_chunk = draw(1, 20),
                                  .blocks = draw(12, 40),
                                  .block_tokens = draw(1, 5),
                                  .prefix_cache = draw(0, 2) > 0};
    const bool defers = draw(0, 1) == 0, ahead = draw(0, 1) == 0;
    step_scheduler engine(limits, defers ? (*prefill_timings().find("deferred"))() : nullptr);
    fake_device device(limits);
    step_context context{.now = time_point{10s}, .steps = {10ms, 1ms, 10us}};
    struct expected {
      std::vector<token> tokens;
      size_t seen = 0;
    };
    std::map<sequence_id, expected> open;
    uint64_t next_id = 1;
    struct started_step {
      std::vector<sampled_token> chosen;
      std::vector<adapter_id> adapters;
    };
    std::deque<started_step> under_way;
    for (int turn = 0; turn < 600; ++turn) {
      if (turn < 200 && draw(0, 2) == 0) {
        auto s = sequence_of(next_id, draw(1, 30), draw(1, 20), adapter_id{draw(0, 3)});
        for (uint32_t i = 0, stem = draw(0, 1), end = draw(0, 2) == 0 ? 0 : draw(1, 30);
             i < std::min<size_t>(end, s.prompt.size()); ++i)
          s.prompt[i] = static_cast<token>(100 * stem + i);
        s.scope = {s.adapter, draw(0, 4) == 0 ? "other" : "", s.adapter.value};
        const auto tokens = undisturbed(s.prompt, s.max_tokens, s.adapter);
        s.priority = static_cast<int32_t>(draw(0, 2));
        s.turn = context.now + draw(0, 100) * 1ms;
        if (draw(0, 1) == 0) s.due = context.now + draw(50, 500) * 1ms;
        if (draw(0, 3) == 0) s.tpot = draw(1, 20) * 1ms;
        if (engine.add(std::move(s)) == completion_refusal::none) open[sequence_id{next_id++}] = {tokens};
      }
      for (const auto a : engine.wanted_adapters(4))
        if (draw(0, 3) == 0 || turn >= 200) engine.adapter_loaded(a);
      if (const adapter_id a{draw(1, 3)}; engine.users(a) == 0 && draw(0, 9) == 0) {
        for (const auto& b : under_way) REQUIRE(std::ranges::count(b.adapters, a) == 0);
        engine.adapter_unloaded(a);
      }
      const auto cancel_one = [&] {
        if (open.empty() || draw(0, 9) > 0) return;
        auto victim = std::next(open.begin(), draw(0, open.size() - 1));
        engine.cancel(victim->first);
        open.erase(victim);
      };
      cancel_one();
      context.now += draw(0, 30) * 1ms;
      const auto& step = engine.plan(context);
      const auto late = engine.late();
      for (const auto id : late) {
        engine.cancel(id);
        REQUIRE(open.erase(id) == 1);
      }
      if (step.rows() > 0) {
        REQUIRE(step.sequences.size() <= limits.max_sequences);
        under_way.push_back({device.run(step), step.segment_adapters});
        steps_ahead += under_way.size() > 1;
        if (ahead && under_way.size() == 1) continue;
      }
      REQUIRE(engine.under_way() == under_way.size());
      if (under_way.empty()) continue;
      cancel_one();  // while the device is busy
      device.end_step();
      auto chosen = std::move(under_way.front().chosen);
      under_way.pop_front();
      std::erase_if(chosen, [&](const auto& c) { return !open.contains(c.sequence); });
      for (auto& c : chosen) {
        auto& sequence = open.at(c.sequence);
        REQUIRE(c.chosen == sequence.tokens.at(sequence.seen++));
        c.last = draw(0, 19) == 0;
        if (c.last || sequence.seen == sequence.tokens.size()) open.erase(c.sequence);
      }
      engine.done(chosen);
    }
    CHECK(open.empty());
    CHECK(engine.idle());
    cached += engine.cache_use().hit;
    CHECK(engine.blocks().available() == limits.blocks);
  }
  CHECK(steps_ahead > 1000);
  CHECK(cached > 2000);
}

TEST_CASE("without mixing, sequences of one adapter run at a time, first come first served") {
  auto limits = small();
  limits.mix_adapters = false;
  step_scheduler engine(limits);
  fake_device device(limits);
  engine.adapter_loaded(adapter_id{7});
  engine.add(sequence_of(1, 3, 4));
  engine.add(sequence_of(2, 3, 4, adapter_id{7}));
  engine.add(sequence_of(3, 3, 4));  // it could run beside the first, but does not pass the second
  std::vector<size_t> together;
  while (!engine.idle()) {
    const auto& step = engine.plan();
    CHECK(step.segment_adapters.size() == 1);
    together.push_back(step.sequences.size());
    engine.done(device.run(step));
  }
  CHECK(together == std::vector<size_t>(12, 1));
}
