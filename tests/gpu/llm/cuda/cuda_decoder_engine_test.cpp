// A whole engine with a cuda_decoder on an emulated GPU: continuous batching, loading and unloading of
// adapters, golden sequences.
#include <doctest/doctest.h>

#include "gpu/llm/cuda/cuda_decoder.hpp"
#include "tests/gpu/kernels/cuda/emulated_machine.hpp"
#include "tests/gpu/llm/golden_sequences.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

template <element E>
llm::computing_options emulated_gpu(cuda_decoder_options options) {
  llm::computing_options out;
  out.folder = llm::golden_folder();
  out.adapter_slots = options.adapter_slots, out.adapter_bytes = 1 << 30;
  out.make = [options](const llm::model_config& config) -> std::unique_ptr<llm::step_model> {
    return std::make_unique<cuda_decoder<emulated_machine, E>>(std::make_unique<emulated_machine>(5), config,
                                                               options);
  };
  return out;
}

/// Sequences of all adapters mixed, with fewer slots than adapters.
template <element E>
void check_sequences(size_t stride) {
  llm::check_golden_sequences(emulated_gpu<E>({1 << 20, 4, 2, true}),
                              {.max_sequences = 6, .prefill_chunk = 16}, stride);
}

}  // namespace

TEST_CASE("cuda decoder: golden sequences of several adapters, batched by an engine, in bf16") {
  check_sequences<element::bf16>(3);
}

TEST_CASE("cuda decoder: golden sequences of several adapters, batched by an engine, in f16") {
  check_sequences<element::f16>(4);
}

TEST_CASE("cuda decoder: an engine's KV cache without room for a block is rejected") {
  llm::waited_device d(emulated_gpu<element::bf16>({100, 16, 0, true}));
  const auto e = d.next();
  CHECK(e.what == llm::engine_event::kind::unusable);
  CHECK(e.problem.find("no room for one block of 16 tokens") != std::string::npos);
}
