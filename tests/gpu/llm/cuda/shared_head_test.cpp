// The output head of a tensor-parallel model, on emulated GPUs.
#include <doctest/doctest.h>

#include <algorithm>
#include <exception>
#include <memory>
#include <thread>

#include "gpu/llm/tensor_shard.hpp"
#include "tests/gpu/llm/cuda/small_decoder.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// The golden logits of a random model over its first `vocabulary` tokens, from ranks that split the head:
/// three rows of a step whose graph has room for four and is replayed.
template <element E>
void check_shared_head(const std::string& name, uint32_t ranks, uint32_t vocabulary) {
  CAPTURE(name);
  CAPTURE(ranks);
  CAPTURE(vocabulary);
  const std::filesystem::path folder = fixtures / "random-llms" / name;
  const llm::checkpoint files(folder);
  llm::model_config config = files.config();
  REQUIRE(config.vocabulary >= vocabulary);
  config.vocabulary = vocabulary;
  const auto golden = read_json(folder / "golden.json");
  const std::vector<llm::token> sequence = golden["ids"];
  const auto end = static_cast<uint32_t>(sequence.size());
  llm_step prompts, last;
  for (uint32_t i = 0; i < 3; ++i) {
    append(prompts, sequence, 0, end - 1, 24 * i, llm::base_model);
    append(last, sequence, end - 1, end, 24 * i, llm::base_model);
  }
  prompts.sampled.clear();
  const llm::sampling_params greedy{.temperature = 0, .biases = {}};
  llm::token_sampling best;
  best.params = &greedy;
  const std::vector<llm::token_sampling> samplings(3, best);

  const auto group = std::make_shared<emulated_group>(ranks);
  std::vector<float> logits;
  std::vector<llm::chosen_token> chosen;
  std::vector<std::exception_ptr> errors(ranks);
  const auto work = [&](uint32_t rank) {
    const llm::tensor_shard shard(config, rank, ranks);
    cuda_decoder<emulated_machine, E> decoder(std::make_unique<emulated_machine>(rank, group, rank),
                                              shard.config(), options_of(shard.config(), 0, true));
    for (uint32_t l = 0; l < files.layers(); ++l) decoder.load(l, shard.of(files.read(l)));
    std::vector<llm::chosen_token> others;
    const auto run = [&](const llm_step& s) {
      decoder.begin(s, {samplings.data(), s.sampled.size()}, 0, files.layers(), nullptr);
      decoder.finish(rank == 0 ? chosen : others, not_stopping);
    };
    run(prompts), run(last), run(last);
    if (rank == 0) logits = decoder.logits(3);
  };
  {
    std::vector<std::jthread> threads;
    for (uint32_t rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        try {
          work(rank);
        } catch (...) {
          errors[rank] = std::current_exception();
          group->abort();
        }
      });
  }
  for (const auto& e : errors)
    if (e) std::rethrow_exception(e);
  std::vector<float> expected = golden["last_logits"];
  expected.resize(vocabulary);
  REQUIRE(logits.size() == size_t{3} * vocabulary);
  REQUIRE(chosen.size() == 3);
  for (size_t i = 0; i < 3; ++i) {
    const float* row = logits.data() + i * vocabulary;
    CHECK(relative_l2(row, expected) < (E == element::bf16 ? 0.08 : 0.01));
    CHECK(chosen[i].which == std::max_element(row, row + vocabulary) - row);
  }
}

}  // namespace

TEST_CASE("shared head: ranks compute all logits of a head, untied or tied to the embedding") {
  check_shared_head<element::f16>("llama2-mha", 2, 256);
  check_shared_head<element::bf16>("mistral-swa", 4, 300);  // the last rank has four tokens fewer
  check_shared_head<element::f16>("llama2-mha", 2, 253);
  check_shared_head<element::bf16>("llama3-gqa-tied", 2, 400);
  check_shared_head<element::f16>("llama3-gqa-tied", 4, 397);
  check_shared_head<element::f16>("llama2-mha", 4, 9);  // the last rank has none
  check_shared_head<element::f16>("qwen2-bias", 4, 9);
}
