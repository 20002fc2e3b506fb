// Compares with the outputs of Transformers and PEFT (tests/fixtures/llama-tasks, random-llms).
#include "tools/commands/sequence_generator.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "gpu/common/request_refused.hpp"
#include "gpu/tokenizer/tokenizer.hpp"
#include "policies/common/random.hpp"
#include "tests/gpu/kernels/cpu/with_threads.hpp"

using namespace troupe;
using namespace troupe::llm;
using nlohmann::json;

namespace {

const std::filesystem::path fixtures = TROUPE_FIXTURES;

json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  REQUIRE(in);
  return json::parse(in);
}

/// A loaded model, and its generator.
class model {
 public:
  explicit model(const std::filesystem::path& folder, scheduler_limits limits, element type = element::f32)
      : files_(folder),
        decoder_(files_.config(), {type, type, limits.blocks, limits.block_tokens}),
        sequences_(decoder_, limits) {
    for (uint32_t l = 0; l < files_.layers(); ++l) {
      CHECK(decoder_.ready_layers() == l);
      decoder_.load(l, files_.read(l));
    }
    CHECK(decoder_.ready_layers() == files_.layers());
  }

  adapter_id adapter_of(const std::filesystem::path& folder) {
    const auto [known, fresh] = adapters_.try_emplace(folder.string(), adapter_id{next_adapter_});
    if (fresh) {
      ++next_adapter_;
      decoder_.load(known->second, read_adapter(folder, files_.config()));
      sequences_.adapter_loaded(known->second);
    }
    return known->second;
  }
  const model_config& config() const { return files_.config(); }
  sequence_generator& sequences() { return sequences_; }

 private:
  checkpoint files_;
  decoder decoder_;
  sequence_generator sequences_;
  std::map<std::string, adapter_id> adapters_;
  uint32_t next_adapter_ = 1;
};

constexpr scheduler_limits roomy{
    .max_sequences = 32, .prefill_chunk = 512, .blocks = 128, .block_tokens = 16};

/// The tasks of tests/fixtures/llama-tasks/golden.json: a prompt, an adapter, and the output of Transformers.
struct task {
  sequence_request request;
  uint32_t last() const { return static_cast<uint32_t>(request.prompt.size() - 1); }
  std::vector<token> output;
  std::vector<float> first_logits;
};
std::vector<task> tasks(model& m) {
  const auto folder = fixtures / "llama-tasks";
  std::vector<task> out;
  for (const auto& g : read_json(folder / "golden.json")) {
    task t;
    t.request.prompt = g["prompt_ids"].get<std::vector<token>>();
    t.request.max_tokens = 40;
    t.request.stop = m.config().eos;
    if (!g["adapter"].is_null())
      t.request.adapter = m.adapter_of(folder / "adapters" / g["adapter"].get<std::string>());
    t.output = g["output_ids"].get<std::vector<token>>();
    t.first_logits = g["first_logits"].get<std::vector<float>>();
    out.push_back(std::move(t));
  }
  return out;
}

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double max = 0;
  for (size_t i = 0; i < a.size(); ++i) max = std::max(max, std::abs(static_cast<double>(a[i]) - b[i]));
  return max;
}
double relative_l2(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double off = 0, all = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    off += (static_cast<double>(a[i]) - b[i]) * (static_cast<double>(a[i]) - b[i]);
    all += static_cast<double>(b[i]) * b[i];
  }
  return std::sqrt(off / all);
}

}  // namespace

TEST_CASE("every task of the adapters gets the tokens of Transformers, one after the other") {
  model m(fixtures / "llama-tasks" / "base", roomy);
  for (const auto& t : tasks(m)) {
    const auto id = m.sequences().add(t.request, {t.last()});
    while (m.sequences().step()) {
    }
    CHECK(m.sequences().sequence(id).tokens == t.output);
    CHECK(m.sequences().sequence(id).reason == finish_reason::stop);
    CHECK(largest_difference(m.sequences().sequence(id).logits.at(0), t.first_logits) < 2e-3);
  }
}

TEST_CASE(
    "all tasks batched together, in any order, in chunks, with too little KV cache: the same bits as alone") {
  std::vector<std::vector<float>> alone;
  {
    model m(fixtures / "llama-tasks" / "base", roomy);
    for (const auto& t : tasks(m)) {
      const auto id = m.sequences().add(t.request, {t.last()});
      while (m.sequences().step()) {
      }
      alone.push_back(m.sequences().sequence(id).logits.at(0));
    }
  }
  uint64_t preemptions = 0;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    CAPTURE(seed);
    random_stream random(seed, "text generator");
    const scheduler_limits limits{.max_sequences = 4 + static_cast<uint32_t>(random() % 28),
                                  .prefill_chunk = 1 + static_cast<uint32_t>(random() % 12),
                                  .blocks = 20,
                                  .block_tokens = 4};
    const kernels::with_threads scope(1 + static_cast<int>(seed % 2));
    model m(fixtures / "llama-tasks" / "base", limits);
    const auto all = tasks(m);
    std::vector<size_t> order(all.size());
    for (size_t i = 0; i < order.size(); ++i) order[i] = i;
    for (size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    std::map<size_t, sequence_id> ids;
    for (const auto i : order) {
      ids[i] = m.sequences().add(all[i].request, {all[i].last()});
      if (random() % 2 == 0) m.sequences().step();
    }
    while (m.sequences().step()) {
    }
    for (const auto& [i, id] : ids) {
      CHECK(m.sequences().sequence(id).tokens == all[i].output);
      CHECK(m.sequences().sequence(id).logits.at(0) == alone[i]);
    }
    preemptions += m.sequences().preemptions();
  }
  CHECK(preemptions > 0);
}

TEST_CASE(
    "random models of all families give the logits and the tokens of Transformers, also with an adapter") {
  struct sample {
    std::string name;
    bool adapted = false;
  };
  for (const auto& [name, adapted] :
       {sample{"llama2-mha"}, sample{"llama2-mha", true}, sample{"llama3-gqa-tied"},
        sample{"llama3-gqa-tied", true}, sample{"mistral-swa"}, sample{"qwen2-bias"}, sample{"qwen3"},
        sample{"gemma2"}, sample{"gemma3"}, sample{"phi3"}, sample{"mixtral"}, sample{"qwen3-moe"}}) {
    CAPTURE(name);
    CAPTURE(adapted);
    const auto folder = fixtures / "random-llms" / name;
    const auto golden = read_json(adapted ? folder / "adapter" / "golden.json" : folder / "golden.json");
    const auto greedy = golden["greedy"].get<std::vector<token>>();
    for (const uint32_t chunk : {512U, 7U}) {
      CAPTURE(chunk);
      auto limits = roomy;
      limits.prefill_chunk = chunk;
      model m(folder, limits);
      sequence_request r;
      r.prompt = golden["ids"].get<std::vector<token>>();
      r.max_tokens = static_cast<uint32_t>(greedy.size());
      if (adapted) r.adapter = m.adapter_of(folder / "adapter");
      const auto last = static_cast<uint32_t>(r.prompt.size() - 1);
      const auto id = m.sequences().add(r, {golden["mid_index"].get<uint32_t>(), last});
      while (m.sequences().step()) {
      }
      const auto& sequence = m.sequences().sequence(id);
      CHECK(sequence.tokens == greedy);
      CHECK(sequence.reason == finish_reason::length);
      CHECK(relative_l2(sequence.logits.at(0), golden["mid_logits"].get<std::vector<float>>()) < 1e-4);
      CHECK(relative_l2(sequence.logits.at(1), golden["last_logits"].get<std::vector<float>>()) < 1e-4);
    }
  }
}

TEST_CASE("in 16 bits the logits of a random model stay close") {
  const auto folder = fixtures / "random-llms" / "llama3-gqa-tied";
  const auto golden = read_json(folder / "golden.json");
  for (const auto& [type, max] : {std::pair{element::bf16, 3e-2}, std::pair{element::f16, 3e-3}}) {
    model m(folder, roomy, type);
    sequence_request r;
    r.prompt = golden["ids"].get<std::vector<token>>();
    r.max_tokens = 1;
    const auto id = m.sequences().add(r, {static_cast<uint32_t>(r.prompt.size() - 1)});
    m.sequences().step();
    CHECK(relative_l2(m.sequences().sequence(id).logits.at(0),
                      golden["last_logits"].get<std::vector<float>>()) < max);
  }
}

TEST_CASE("a sampled token depends on the seed and the position, not on the rest of the batch") {
  const auto folder = fixtures / "random-llms" / "llama2-mha";
  const auto request_of = [](uint64_t seed) {
    sequence_request r{.prompt = {1, 63, 154, 142}};
    r.max_tokens = 30;
    r.sampling.temperature = 1.2F;
    r.sampling.top_k = 40;
    r.sampling.top_p = 0.95F;
    r.sampling.repetition_penalty = 1.1F;
    r.sampling.seed = seed;
    return r;
  };
  std::vector<std::vector<token>> alone;
  for (uint64_t seed = 0; seed < 8; ++seed) {
    model m(folder, roomy);
    const auto id = m.sequences().add(request_of(seed));
    while (m.sequences().step()) {
    }
    alone.push_back(m.sequences().sequence(id).tokens);
    CHECK(alone.back().size() == 30);
  }
  CHECK(std::set(alone.begin(), alone.end()).size() == 8);
  model m(folder, {.max_sequences = 8, .prefill_chunk = 3, .blocks = 30, .block_tokens = 4});
  std::vector<sequence_id> ids;
  for (uint64_t seed = 0; seed < 8; ++seed) ids.push_back(m.sequences().add(request_of(seed)));
  while (m.sequences().step()) {
  }
  CHECK(m.sequences().preemptions() > 0);
  for (uint64_t seed = 0; seed < 8; ++seed) CHECK(m.sequences().sequence(ids[seed]).tokens == alone[seed]);
}

TEST_CASE("a sequence with a missing adapter waits, and a removed sequence is gone") {
  model m(fixtures / "llama-tasks" / "base", roomy);
  sequence_request r{.prompt = {1, 265, 260}, .adapter = adapter_id{5}};
  const auto waits = m.sequences().add(r);
  CHECK(!m.sequences().step());
  CHECK(m.sequences().sequence(waits).reason == finish_reason::none);
  m.sequences().forget(waits);
  r.adapter = base_model;
  r.max_tokens = 3;
  const auto runs = m.sequences().add(r, {1, 0, 1});
  while (m.sequences().step()) {
  }
  const auto& sequence = m.sequences().sequence(runs);
  CHECK(sequence.reason == finish_reason::length);
  CHECK(sequence.logits[0] == sequence.logits[2]);
  CHECK(sequence.logits[0] != sequence.logits[1]);
  CHECK_THROWS_AS(m.sequences().sequence(waits), std::out_of_range);
}

TEST_CASE("a request that the model cannot serve is refused with the reason") {
  model m(fixtures / "llama-tasks" / "base", {.max_sequences = 2, .blocks = 4, .block_tokens = 4});
  const auto problem = [&](sequence_request r, std::vector<uint32_t> logits_at = {}) -> std::string {
    try {
      m.sequences().add(std::move(r), std::move(logits_at));
    } catch (const request_refused& e) {
      return e.what();
    }
    return "";
  };
  CHECK(problem({.prompt = {1, 354}}) == "token 1 of the prompt is 354; the model's are 0 to 353");
  CHECK(problem({.prompt = {-1}}) == "token 0 of the prompt is -1; the model's are 0 to 353");
  CHECK(problem({.prompt = {}}) == "a sequence needs a prompt, and a token to generate");
  CHECK(problem({.prompt = {1, 2}, .max_tokens = 16}) ==
        "2 tokens of prompt and 16 to generate do not fit into the KV cache");
  CHECK(problem({.prompt = {1, 2}}, {2}) == "logits are requested after position 2 of a prompt of 2 tokens");
  CHECK(problem({.prompt = {1, 2}, .max_tokens = 512}).find("exceed the model's 512 positions") !=
        std::string::npos);
  CHECK(problem({.prompt = {1, 2}, .max_tokens = 15}).empty());
}
