// The tokens of the emulated device depend on its memory: each test that plants a memory error checks that
// the tokens change.
#include "gpu/llm/emulated_engine_device.hpp"

#include <doctest/doctest.h>

#include <deque>
#include <functional>
#include <map>

#include "policies/llm/step_scheduler.hpp"

using namespace troupe;
using namespace troupe::llm;
using kind = engine_event::kind;

namespace {

struct stepped_clock final : clock {
  time_point at = time_point{1s};
  time_point now() const override { return at; }
};

emulated_engine_options emulated_options(uint32_t blocks = 64) {
  emulated_engine_options o;
  o.profile.step.fixed = 1ms;
  o.profile.step.decode = 10us;
  o.profile.kv_token_bytes = 100;
  o.profile.adapter_load = 2ms;
  o.vocabulary = 1000;
  o.max_positions = 512;
  o.end_of_text = {2};
  o.kv_bytes = uint64_t{blocks} * 4 * 100;
  o.block_tokens = 4;
  o.adapter_slots = 4;
  return o;
}

struct sequence {
  std::vector<token> prompt;
  adapter_id adapter = base_model;
  uint64_t seed = 0;
};

/// An engine over the device; time advances to the device's events.
struct emulated_engine {
  explicit emulated_engine(emulated_engine_options o, uint32_t chunk = 64, bool prefix_cache = false)
      : device(time, o) {
    engine_event e;
    REQUIRE(device.poll(time.at, e));
    REQUIRE(e.what == kind::loaded);
    facts = e.facts;
    scheduler = std::make_unique<step_scheduler>(scheduler_limits{.max_sequences = 8,
                                                                  .prefill_chunk = chunk,
                                                                  .blocks = facts.blocks,
                                                                  .block_tokens = facts.block_tokens,
                                                                  .prefix_cache = prefix_cache});
    for (uint32_t a = 1; a <= 3; ++a) {
      device.load_adapter(adapter_id{a}, "/adapters/" + std::to_string(a));
      CHECK(next().what == kind::adapter_ready);
      scheduler->adapter_loaded(adapter_id{a});
    }
  }

  engine_event next() {
    engine_event e;
    REQUIRE(device.poll_at() != never);
    time.at = std::max(time.at, device.poll_at());
    REQUIRE(device.poll(time.at, e));
    return e;
  }

  /// Tokens of each sequence. `spoil` may change the device's input.
  std::vector<std::vector<token>> run(const std::vector<sequence>& sequences, uint32_t max_tokens,
                                      const std::function<void(llm_step&)>& spoil = {}) {
    std::vector<std::vector<token>> out(sequences.size());
    for (size_t i = 0; i < sequences.size(); ++i)
      REQUIRE(scheduler->add({.id = sequence_id{i + 1},
                              .prompt = sequences[i].prompt,
                              .max_tokens = max_tokens,
                              .adapter = sequences[i].adapter,
                              .scope = {sequences[i].adapter, {}, 0}}) == step_scheduler::refusal::none);
    const sampling_params params{.temperature = 1, .biases = {}};
    std::deque<llm_step> under_way;
    while (!scheduler->idle()) {
      while (under_way.size() <= facts.steps_ahead) {
        const auto& planned = scheduler->plan();
        if (planned.rows() == 0) break;
        std::vector<token_sampling> samplings;
        for (const auto row : planned.sampled)
          samplings.push_back({.params = &params,
                               .seed = sequences[planned.sequences[planned.row_sequence[row]].value - 1].seed,
                               .counts = {}});
        auto changed_step = planned;
        if (spoil) spoil(changed_step);
        device.start(changed_step, samplings);
        under_way.push_back(planned);
      }
      const auto e = next();
      REQUIRE(e.what == kind::step_done);
      std::vector<sampled_token> chosen;
      const auto& ran = under_way.front();
      for (size_t i = 0; i < ran.sampled.size(); ++i) {
        const auto id = ran.sequences[ran.row_sequence[ran.sampled[i]]];
        chosen.push_back({id, e.chosen[i].which});
        out[id.value - 1].push_back(e.chosen[i].which);
      }
      under_way.pop_front();
      scheduler->done(chosen);
    }
    return out;
  }

  stepped_clock time;
  emulated_engine_device device;
  engine_facts facts;
  std::unique_ptr<step_scheduler> scheduler;
};

std::vector<sequence> some_sequences() {
  std::vector<sequence> out;
  for (uint32_t i = 0; i < 6; ++i) {
    sequence t{{}, adapter_id{i % 4}, i};
    for (uint32_t p = 0; p < 5 + 3 * i; ++p) t.prompt.push_back(static_cast<token>(7 * p + 3));
    out.push_back(t);
  }
  return out;
}
constexpr uint32_t tokens_of_each = 20;

std::vector<std::vector<token>> each_alone() {
  std::vector<std::vector<token>> out;
  for (const auto& t : some_sequences())
    out.push_back(emulated_engine(emulated_options()).run({t}, tokens_of_each)[0]);
  return out;
}

}  // namespace

TEST_CASE("emulated engine: a step takes the time of the profile, and sequences end at their length only") {
  emulated_engine e(emulated_options());
  const auto begun = e.time.at;
  const auto tokens = e.run({{{1, 2, 3}}}, 200)[0];
  CHECK(tokens.size() == 200);
  CHECK(std::ranges::count(tokens, 2) == 0);           // the end of sequences
  CHECK(e.time.at - begun == 200 * 1ms + 199 * 10us);  // the prefill's rows do not count as decodes
  CHECK(e.device.poll_at() == never);
}

TEST_CASE("emulated engine: a sequence does not depend on its batch, its chunks or preemptions") {
  const auto alone = each_alone();
  emulated_engine roomy(emulated_options());
  CHECK(roomy.run(some_sequences(), tokens_of_each) == alone);
  CHECK(roomy.scheduler->preemptions() == 0);
  emulated_engine tight(emulated_options(14), 3);
  CHECK(tight.run(some_sequences(), tokens_of_each) == alone);
  CHECK(tight.scheduler->preemptions() > 0);
  CHECK(tight.scheduler->blocks().available() == 14);
}

TEST_CASE("emulated engine: cached blocks change no sequence, and their tokens take no time") {
  const auto alone = each_alone();
  for (const uint32_t blocks : {64u, 14u}) {
    emulated_engine e(emulated_options(blocks), blocks == 14 ? 3 : 64, true);
    for (int turn = 0; turn < 3; ++turn) CHECK(e.run(some_sequences(), tokens_of_each) == alone);
    CHECK(e.scheduler->cache_use().hit > (blocks == 64 ? 50u : 0u));
    CHECK(e.scheduler->blocks().available() == blocks);
  }
  auto o = emulated_options();
  o.profile.step.prefill_token = 1ms;
  emulated_engine e(o, 64, true);
  const auto takes = [&](const sequence& s) {
    const auto begun = e.time.at;
    e.run({s}, 1);
    return e.time.at - begun;
  };
  const auto s = some_sequences()[4];  // 17 tokens
  CHECK(takes(s) == 1ms + 17 * 1ms);
  CHECK(takes(s) == 1ms + 10us);  // its last token, as a decode
}

TEST_CASE("emulated engine: steps ahead change neither the sequences nor their time") {
  const auto run = [](uint32_t steps_ahead) {
    auto o = emulated_options();
    o.steps_ahead = steps_ahead;
    emulated_engine e(o);
    const auto begun = e.time.at;
    auto sequences = e.run(some_sequences(), tokens_of_each);
    return std::pair{std::move(sequences), e.time.at - begun};
  };
  CHECK(run(1) == run(0));
}

TEST_CASE("emulated engine: sequences differ by prompt, adapter and seed") {
  const sequence t{{5, 6, 7}};
  auto with_adapter = t, other_seed = t, other_prompt = t;
  with_adapter.adapter = adapter_id{1};
  other_seed.seed = 1;
  other_prompt.prompt[0] = 6;
  const auto out = emulated_engine(emulated_options()).run({t, with_adapter, other_seed, other_prompt, t}, 8);
  for (size_t i = 1; i < 4; ++i) CHECK(out[i] != out[0]);
  CHECK(out[4] == out[0]);
}

TEST_CASE("emulated engine: a planted bug in a page, a slot or a resumed sequence changes tokens") {
  const auto alone = each_alone();
  int planted = 0;
  const auto spoiled = [&](uint32_t blocks, const std::function<void(llm_step&)>& spoil) {
    planted = 0;
    return emulated_engine(emulated_options(blocks), 64).run(some_sequences(), tokens_of_each, spoil);
  };
  SUBCASE("two pages of a sequence are swapped once") {
    CHECK(spoiled(64, [&](llm_step& s) {
            for (size_t i = 0; i + 1 < s.block_start.size() && planted == 0; ++i)
              if (s.positions[s.sampled.back()] > 8 && s.block_start[i + 1] - s.block_start[i] > 2)
                std::swap(s.blocks[s.block_start[i]], s.blocks[s.block_start[i] + 1]), ++planted;
          }) != alone);
  }
  SUBCASE("a sequence reads another's page once") {
    CHECK(spoiled(64, [&](llm_step& s) {
            if (planted > 0 || s.sequences.size() < 3) return;
            s.blocks[s.block_start[1]] = s.blocks[s.block_start[2]];
            ++planted;
          }) != alone);
  }
  SUBCASE("a step started ahead uses another sequence's token once") {
    CHECK(spoiled(64, [&](llm_step& s) {
            if (planted > 0 || std::ranges::count_if(s.tokens, is_chosen_before) < 3) return;
            const auto last = std::ranges::find_if(s.tokens.rbegin(), s.tokens.rend(), is_chosen_before);
            *std::ranges::find_if(s.tokens, is_chosen_before) = *last;
            ++planted;
          }) != alone);
  }
  SUBCASE("a segment gets another adapter's slot once") {
    CHECK(spoiled(64, [&](llm_step& s) {
            if (planted > 0 || s.segment_adapters.back() == base_model) return;
            s.segment_adapters.back() = adapter_id{s.segment_adapters.back().value % 3 + 1};
            ++planted;
          }) != alone);
  }
  SUBCASE("a resumed sequence has its last token twice") {
    std::map<uint64_t, uint32_t> prefilled;
    CHECK(spoiled(14, [&](llm_step& s) {
            const auto first = s.row_sequence[0];
            uint32_t rows = 0;
            while (rows < s.rows() && s.row_sequence[rows] == first) ++rows;
            if (rows < 2 || prefilled[s.sequences[first].value]++ == 0) return;
            s.tokens[rows - 2] = s.tokens[rows - 1];
            ++planted;
          }) != alone);
  }
  CHECK(planted > 0);
}

namespace {

/// Rows of one sequence in one block; the last one is sampled.
llm_step rows_of(uint64_t sequence, const std::vector<token>& tokens, uint32_t first, uint32_t block,
                 adapter_id adapter = base_model) {
  llm_step s;
  s.tokens = tokens;
  for (uint32_t i = 0; i < tokens.size(); ++i) s.positions.push_back(first + i), s.row_sequence.push_back(0);
  s.sequences = {sequence_id{sequence}};
  s.block_start = {0, 1};
  s.blocks = {block};
  s.segment_end = {0, s.rows()};
  s.segment_adapters = {adapter};
  s.sampled = {s.rows() - 1};
  return s;
}

const sampling_params greedy_sampling{.temperature = 0, .biases = {}};
const token_sampling best{.params = &greedy_sampling, .counts = {}};

}  // namespace

TEST_CASE("emulated engine: a block that is reused during a step changes the tokens of its new sequence") {
  const auto second_token = [](uint32_t block) {
    emulated_engine e(emulated_options());
    const auto start = [&](const llm_step& s) { e.device.start(s, {&best, 1}); };
    start(rows_of(1, {5}, 0, 0));
    start(rows_of(1, {chosen_before(0)}, 1, 0));
    CHECK(e.next().what == kind::step_done);
    start(rows_of(2, {7, 8}, 0, block));  // the first sequence has ended; its last step runs
    e.next();
    start(rows_of(2, {chosen_before(0)}, 2, block));
    e.next();
    return e.next().chosen[0].which;
  };
  CHECK(second_token(1) == second_token(2));
  CHECK(second_token(0) != second_token(1));
}

TEST_CASE("emulated engine: a step with an unloaded adapter fails, with the steps behind it") {
  emulated_engine e(emulated_options());
  e.device.start(rows_of(1, {5}, 0, 0, adapter_id{1}), {&best, 1});
  e.device.start(rows_of(1, {chosen_before(0)}, 1, 0, adapter_id{1}), {&best, 1});
  e.device.unload_adapter(adapter_id{1});
  const auto failed = e.next();
  CHECK(failed.what == kind::step_failed);
  CHECK(failed.problem == "adapter 1 was unloaded during a step");
  CHECK(e.device.poll_at() == never);
  e.device.start(rows_of(2, {5}, 0, 0), {&best, 1});
  CHECK(e.next().what == kind::step_done);
}

TEST_CASE("emulated engine: steps started behind a failed one are not reported") {
  emulated_engine e(emulated_options());
  e.device.start(rows_of(1, {5}, 0, 0), {&best, 1});
  e.device.start(rows_of(2, {5}, 0, 1, adapter_id{9}), {&best, 1});
  CHECK(e.next().what == kind::step_done);
  e.device.start(rows_of(3, {5}, 0, 2), {&best, 1});
  CHECK(e.next().problem == "a step needs adapter 9, which is not on the device");
  CHECK(e.device.poll_at() == never);
}

TEST_CASE("emulated engine: an adapter loads in its load time, and a step before that fails") {
  stepped_clock time;
  emulated_engine_device d(time, emulated_options());
  engine_event e;
  REQUIRE(d.poll(time.at, e));
  d.load_adapter(adapter_id{1}, "/a");
  CHECK_FALSE(d.poll(time.at + 1ms, e));
  CHECK(d.poll_at() == time.at + 2ms);
  llm_step s;
  s.tokens = {1};
  s.positions = {0};
  s.row_sequence = {0};
  s.sequences = {sequence_id{1}};
  s.block_start = {0, 1};
  s.blocks = {0};
  s.segment_end = {0, 1};
  s.segment_adapters = {adapter_id{1}};
  d.start(s, {});
  REQUIRE(d.poll(time.at, e));
  CHECK(e.what == kind::step_failed);
  CHECK(e.problem == "a step needs adapter 1, which is not on the device");
  d.unload_adapter(adapter_id{1});
  CHECK(d.poll_at() == never);
}

TEST_CASE("emulated engine: a folder that holds no adapter is refused, as by devices that read it") {
  stepped_clock time;
  auto o = emulated_options();
  o.adapter_slots = 1;
  o.adapter_problem = [](const std::string& folder) { return folder == "/a" ? "" : folder + ": is missing"; };
  emulated_engine_device d(time, o);
  engine_event e;
  REQUIRE(d.poll(time.at, e));
  d.read_adapter(adapter_id{1}, "/b");
  REQUIRE(d.poll(time.at, e));
  CHECK(e.what == kind::adapter_read);
  CHECK(e.problem == "/b: is missing");
  d.load_adapter(adapter_id{1}, "/b");
  REQUIRE(d.poll(time.at, e));
  CHECK(e.what == kind::adapter_failed);
  CHECK(e.adapter == adapter_id{1});
  CHECK(e.problem == "/b: is missing");
  d.read_adapter(adapter_id{1}, "/a");  // its slot is free again
  d.load_adapter(adapter_id{1}, "/a");
  REQUIRE(d.poll(time.at, e));
  CHECK(e.problem == "");
  REQUIRE(d.poll(time.at + 2ms, e));
  CHECK(e.what == kind::adapter_ready);
}

TEST_CASE("emulated engine: jitter lengthens steps by at most its fraction, determined by the seed") {
  const auto took = [](double jitter, uint64_t seed) {
    auto o = emulated_options();
    o.jitter = jitter;
    o.seed = seed;
    emulated_engine e(o);
    const auto begun = e.time.at;
    e.run({{{1}}}, 50);
    return e.time.at - begun;
  };
  CHECK(took(0.2, 1) > took(0, 1));
  CHECK(took(0.2, 1) < took(0, 1) * 6 / 5);
  CHECK(took(0.2, 1) == took(0.2, 1));
  CHECK(took(0.2, 1) != took(0.2, 2));
}

TEST_CASE("emulated engine: a model without room for a block, or with a problem, is unusable") {
  const auto said = [](const emulated_engine_options& o) {
    stepped_clock time;
    emulated_engine_device d(time, o);
    engine_event e;
    REQUIRE(d.poll(time.at, e));
    CHECK(e.what == kind::unusable);
    return e.problem;
  };
  auto o = emulated_options();
  o.kv_bytes = 399;
  CHECK(said(o) == "a KV cache of 399 bytes has no room for one block of 4 tokens, 400 bytes: increase it");
  o.problem = "no config.json";
  CHECK(said(o) == "no config.json");
}

TEST_CASE("emulated engine: with penalties a token depends on the counts, pending token included") {
  sampling_params params = greedy_sampling;
  params.presence_penalty = 1;
  const auto third = [&](std::vector<token_frequency> counts, bool ahead) {
    emulated_engine e(emulated_options());
    e.device.start(rows_of(1, {5}, 0, 0), {&best, 1});
    token second = 0;
    if (!ahead) second = e.next().chosen[0].which, counts.push_back({second, 0, 1});
    const token_sampling sampling{.params = &params, .counts = counts};
    e.device.start(rows_of(1, {ahead ? chosen_before(0) : second}, 1, 0), {&sampling, 1});
    if (ahead) e.next();
    return e.next().chosen[0].which;
  };
  CHECK(third({{5, 1, 0}}, true) == third({{5, 1, 0}}, false));
  CHECK(third({{5, 1, 1}}, true) == third({{5, 1, 1}}, false));
  CHECK(third({{5, 1, 0}}, true) != third({{5, 0, 1}}, true));
}
