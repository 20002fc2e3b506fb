// Timed steps of a decoder, for `troupe bench llm`.
#pragma once
#include <cstdint>
#include <vector>

#include "gpu/llm/decoder.hpp"
#include "messages/common/time.hpp"

namespace troupe::llm {

/// A decode step: `rows` sequences of `context` tokens, of which the last is computed. With `adapters`, row i
/// has adapter i + 1. The KV blocks are numbered from 0.
llm_step decode_step(uint32_t rows, uint32_t context, uint32_t tokens_of_block, bool adapters);
/// A prefill of one prompt of `tokens` tokens in one chunk.
llm_step prefill_step(uint32_t tokens, uint32_t tokens_of_block);

/// The bytes that a step reads at least: weights and the KV cache, without adapters.
uint64_t bytes_of_step(const decoder& d, const llm_step& step);
/// Floating-point operations of its projections and its attention.
double flops_of_step(const decoder& d, const llm_step& step);

struct step_time {
  duration all{};        ///< the layers, the head, and greedy sampling of a token
  kernel_times kernels;  ///< including the head's, without sampling
};
/// Requires: all layers and the step's adapters are loaded.
class step_timer {
 public:
  step_timer(decoder& d, const clock& c) : decoder_(d), clock_(c) {}
  step_time run(const llm_step& step);

 private:
  decoder& decoder_;
  const clock& clock_;
  activation x_;
  std::vector<float> logits_;
};

struct host_work {
  duration median{}, p99{};
  duration plan{}, decoder{}, done{};  ///< medians of the parts
  uint32_t steps = 0;
};
/// Host time of a step of `rows` sequences outside of kernels: planning it, the decoder's work around its
/// kernels, and the update with the sampled tokens. The model has `layers` narrow layers (host work does not
/// depend on the width) and an adapter for every sequence; the caches are flushed before every step. Runs for
/// `seconds`, at least 100 steps. The two clock reads around each kernel are included.
host_work measure_host_work(uint32_t rows, uint32_t layers, uint32_t context, double seconds);

}  // namespace troupe::llm
