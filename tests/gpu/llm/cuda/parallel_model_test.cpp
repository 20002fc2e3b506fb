// A model on two emulated GPUs: tensor parallelism, collectives, and failures of a rank.
#include "gpu/llm/parallel_model.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "gpu/common/device_lost.hpp"
#include "gpu/llm/cuda/cuda_decoder.hpp"
#include "tests/gpu/checkpoint/files.hpp"
#include "tests/gpu/kernels/cuda/emulated_machine.hpp"
#include "tests/gpu/llm/golden_sequences.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

nlohmann::json read_json(const std::filesystem::path& file) {
  std::ifstream in(file);
  return nlohmann::json::parse(in);
}

template <element E>
std::unique_ptr<llm::step_model> tensor_parallel_model(const llm::model_config& config, uint32_t ranks,
                                                       cuda_decoder_options options,
                                                       std::shared_ptr<emulated_group> group = nullptr) {
  if (!group) group = std::make_shared<emulated_group>(ranks);
  return std::make_unique<llm::parallel_model>(
      config, ranks,
      [=](const llm::model_config& share, uint32_t rank) {
        return std::make_unique<cuda_decoder<emulated_machine, E>>(
            std::make_unique<emulated_machine>(rank, group, rank), share, options);
      },
      [group] { group->abort(); });
}

/// One sequence with its prompt in one step; the probabilities of the most likely next tokens.
std::vector<token_chance> chances_after(llm::step_model& model, uint32_t layers,
                                        const std::vector<llm::token>& sequence,
                                        llm::adapter_id adapter = llm::base_model) {
  llm::llm_step s;
  s.tokens.assign(sequence.begin(), sequence.end());
  for (uint32_t p = 0; p < sequence.size(); ++p) s.positions.push_back(p), s.row_sequence.push_back(0);
  s.sequences = {llm::sequence_id{1}};
  for (uint32_t b = 0; b * 4 < sequence.size(); ++b) s.blocks.push_back(b);
  s.block_start = {0, static_cast<uint32_t>(s.blocks.size())};
  s.segment_end = {0, s.rows()}, s.segment_adapters = {adapter};
  s.sampled = {s.rows() - 1};
  const llm::sampling_params greedy{.temperature = 0, .biases = {}};
  llm::token_sampling sampling;
  sampling.params = &greedy, sampling.top = 20;
  std::vector<llm::chosen_token> chosen;
  const std::atomic<bool> never = false;
  model.begin(s, {&sampling, 1}, 0, layers, nullptr);
  model.finish(chosen, never);
  REQUIRE(chosen.size() == 1);
  return chosen[0].top;
}

/// The logarithm of the sum of exponentials.
double log_sum(const std::vector<double>& logits) {
  double sum = 0;
  for (const double x : logits) sum += std::exp(x);
  return std::log(sum);
}

/// Checks the golden logits of a random model and of its adapter on this many ranks.
template <element E>
void check_golden(const std::string& name, uint32_t ranks) {
  CAPTURE(name);
  CAPTURE(ranks);
  const std::filesystem::path folder = llm::fixtures / "random-llms" / name;
  const llm::checkpoint files(folder);
  const auto model = tensor_parallel_model<E>(files.config(), ranks, {1 << 20, 4, 2, true});
  for (uint32_t l = 0; l < files.layers(); ++l) model->load(l, files.read(l));
  std::vector<std::pair<llm::adapter_id, std::filesystem::path>> sequences{{llm::base_model, "golden.json"}};
  if (std::filesystem::exists(folder / "adapter")) {
    model->load(llm::adapter_id{7}, model->pack(llm::read_adapter(folder / "adapter", files.config())));
    sequences.emplace_back(llm::adapter_id{7}, "adapter/golden.json");
  }
  const double tolerance = E == element::bf16 ? 0.08 : 0.01;  // as for one GPU (cuda_decoder_test.cpp)
  for (const auto& [adapter, file] : sequences) {
    CAPTURE(adapter.value);
    const auto golden = read_json(folder / file);
    const std::vector<double> logits = golden["last_logits"];
    double off = 0, all = 0;
    for (const auto& c : chances_after(*model, files.layers(), golden["ids"], adapter)) {
      const double expected = logits[static_cast<size_t>(c.which)] - log_sum(logits);
      off += std::pow(c.logprob - expected, 2), all += std::pow(expected, 2);
    }
    CHECK(std::sqrt(off / all) < tolerance);
  }
}

}  // namespace

TEST_CASE("parallel model: golden logits, with and without an adapter") {
  check_golden<element::f16>("llama2-mha", 2);
  check_golden<element::bf16>("llama2-mha", 4);
  check_golden<element::bf16>("llama3-gqa-tied", 2);  // one kv head for both
  check_golden<element::f16>("mistral-swa", 2);
  check_golden<element::f16>("qwen2-bias", 2);
}

TEST_CASE("parallel model: ranks wait at a barrier around an allocation for a step, and only then") {
  const llm::checkpoint files(llm::fixtures / "random-llms" / "llama2-mha");
  const auto group = std::make_shared<emulated_group>(2);
  const auto model = tensor_parallel_model<element::f16>(files.config(), 2, {1 << 20, 4, 2, true}, group);
  for (uint32_t l = 0; l < files.layers(); ++l) model->load(l, files.read(l));
  std::vector<uint64_t> phases;  // per step: those of any step, plus those of its collectives
  for (int step = 0; step < 5; ++step) {
    const uint64_t before = group->phases();
    chances_after(*model, files.layers(), {1, 2, 3});
    phases.push_back(group->phases() - before);
  }
  CHECK(phases == std::vector{phases[4] + 2, phases[4] + 2, phases[4], phases[4],
                              phases[4]});  // the host has room for two
}

TEST_CASE("parallel model: ranks load the whole embedding and their rows of the head, and sizes are summed") {
  const llm::checkpoint files(llm::fixtures / "random-llms" / "llama2-mha");
  const auto model = tensor_parallel_model<element::f16>(files.config(), 2, {1 << 20, 4, 2, true});
  const uint64_t row = files.config().hidden * 2, table = files.config().vocabulary * row;
  CHECK(model->load(0, files.read(0)) == 2 * table);
  CHECK(model->load(files.layers() - 1, files.read(files.layers() - 1)) == table + 2 * row);
}

TEST_CASE("parallel model: a step begun ahead continues on all ranks with the tokens of rank 0") {
  const llm::checkpoint files(llm::fixtures / "random-llms" / "llama2-mha");
  std::vector<llm::token> tokens[2];
  for (const bool ahead : {false, true}) {
    const auto model = tensor_parallel_model<element::f16>(files.config(), 2, {1 << 20, 4, 2, true});
    CHECK(model->facts().steps_ahead == 1);
    for (uint32_t l = 0; l < files.layers(); ++l) model->load(l, files.read(l));
    const llm::sampling_params greedy{.temperature = 0, .biases = {}};
    llm::token_sampling sampling;
    sampling.params = &greedy;
    const std::atomic<bool> never = false;
    std::vector<llm::chosen_token> chosen;
    auto& out = tokens[ahead];
    const auto finish = [&] {
      model->finish(chosen, never);
      out.push_back(chosen.at(0).which);
    };
    llm::llm_step steps[6];
    for (uint32_t i = 0; i < 6; ++i) {
      auto& s = steps[i];
      s.tokens = {i == 0 ? 5 : ahead ? llm::chosen_before(0) : out.back()};
      s.positions = {i}, s.row_sequence = {0}, s.sequences = {llm::sequence_id{1}}, s.blocks = {0, 1};
      s.block_start = {0, 2}, s.segment_end = {0, 1}, s.segment_adapters = {llm::base_model}, s.sampled = {0};
      model->begin(s, {&sampling, 1}, 0, files.layers(), nullptr);
      if (!ahead || i > 0) finish();
    }
    if (ahead) finish();
  }
  CHECK(tokens[0].size() == 6);
  CHECK(tokens[1] == tokens[0]);
}

TEST_CASE("parallel model: golden sequences of several adapters, batched by an engine of two ranks") {
  llm::computing_options options;
  options.folder = llm::golden_folder(), options.adapter_slots = 2, options.adapter_bytes = 1 << 30;
  options.make = [](const llm::model_config& config) {
    return tensor_parallel_model<element::f16>(config, 2, {1 << 19, 4, 2, true});
  };
  llm::check_golden_sequences(options, {.max_sequences = 6, .prefill_chunk = 16}, 5);
}

namespace {

/// The failing operation of one rank.
struct failing_model final : llm::step_model {
  explicit failing_model(std::shared_ptr<emulated_group> g, uint32_t number)
      : group(std::move(g)), rank(number) {}
  llm::engine_facts facts() const override { return {.end_of_text = {}}; }
  uint64_t load(uint32_t, const llm::layer_parameters&) override { return 1; }
  std::shared_ptr<const llm::packed_adapter> pack(const llm::adapter&) override {
    struct nothing final : llm::packed_adapter {
      uint64_t bytes() const override { return 3; }
    };
    return std::make_shared<const nothing>();
  }
  void load(llm::adapter_id id, std::shared_ptr<const llm::packed_adapter>) override {
    if (id.value == 2 && rank == 1) throw std::runtime_error("rank 1 is full");
  }
  void unload(llm::adapter_id) override {}
  void begin(const llm::llm_step& step, std::span<const llm::token_sampling>, uint32_t, uint32_t,
             llm::activation*) override {
    fails = step.rows() == 2 && rank == 1;
  }
  bool is_ready() override { return true; }
  bool finish(std::vector<llm::chosen_token>&, const std::atomic<bool>&) override {
    if (fails) throw std::runtime_error("rank 1 has lost its GPU");
    float one = 1;
    group->all_reduce(rank, &one, 1, element::f32);
    CHECK(one == static_cast<float>(group->ranks()));
    return true;
  }
  llm::kv_cache_memory kv_memory() override { return {}; }

  std::shared_ptr<emulated_group> group;
  const uint32_t rank;
  bool fails = false;
};

}  // namespace

TEST_CASE("parallel model: an adapter or a step that fails on one rank fails on all, permanently") {
  const llm::model_config config = llm::checkpoint(llm::fixtures / "random-llms" / "llama2-mha").config();
  const auto group = std::make_shared<emulated_group>(4);
  llm::parallel_model model(
      config, 4,
      [&](const llm::model_config&, uint32_t rank) { return std::make_unique<failing_model>(group, rank); },
      [&] { group->abort(); });
  CHECK(model.load(0, {}) == 4);
  const auto packed = model.pack({});
  CHECK(packed->bytes() == 12);
  model.load(llm::adapter_id{1}, packed);

  std::vector<llm::chosen_token> chosen;
  const std::atomic<bool> never = false;
  const auto run = [&](size_t rows) {
    llm::llm_step step;
    step.tokens.resize(rows);
    model.begin(step, {}, 0, 4, nullptr);
    model.finish(chosen, never);
  };
  CHECK_NOTHROW(run(1));
  SUBCASE("a step fails on one rank") {
    CHECK_THROWS_WITH_AS(run(2), "rank 1 has lost its GPU", device_lost);
  }
  SUBCASE("an adapter fails on one rank") {
    CHECK_THROWS_WITH_AS(model.load(llm::adapter_id{2}, packed), "rank 1 is full", device_lost);
  }
  CHECK_THROWS_WITH(run(1), "one device of this tensor-parallel model has failed");
}

TEST_CASE("parallel model: the error of a rank that cannot make its model is rethrown") {
  const llm::model_config config = llm::checkpoint(llm::fixtures / "random-llms" / "llama2-mha").config();
  const auto group = std::make_shared<emulated_group>(2);
  const auto make = [&](const llm::model_config&, uint32_t rank) -> std::unique_ptr<llm::step_model> {
    if (rank == 1) throw std::runtime_error("there is no GPU 1");
    return std::make_unique<failing_model>(group, rank);
  };
  CHECK_THROWS_WITH(llm::parallel_model(config, 2, make, [] {}), "there is no GPU 1");
}
