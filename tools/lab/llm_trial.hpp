// Steps of a decoder whose time is taken: what `troupe bench llm` compares.
#pragma once
#include <cstdint>
#include <vector>

#include "gpu/llm/decoder.hpp"
#include "messages/common/time.hpp"

namespace troupe::llm {

/// `rows` sequences of `context` tokens, the last of which is computed and then followed by a new one; row i
/// has adapter i + 1 if `adapters`. The KV blocks are those from 0 on.
llm_step decode_step(uint32_t rows, uint32_t context, uint32_t tokens_of_block, bool adapters);
/// A prompt of so many tokens, at once.
llm_step prefill_step(uint32_t tokens, uint32_t tokens_of_block);

/// What a step reads from memory at least once: weights and the KV cache. Adapters come on top.
uint64_t bytes_of_step(const decoder& d, const llm_step& step);
/// Multiplications and additions of its projections and of its attention.
double flops_of_step(const decoder& d, const llm_step& step);

struct step_time {
  duration all{};        ///< the layers, the head, and greedy choices of a token
  kernel_times kernels;  ///< the head's among them; without choosing
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
  duration plan{}, decoder{}, done{};  ///< medians of its parts
  uint32_t steps = 0;
};
/// What a step of `rows` sequences costs apart from kernels: planning it, what the decoder does around its
/// kernels, and entering what was chosen. Of a model with that many layers but narrow ones (the host's work
/// does not depend on the width), with an adapter for every sequence, whose caches other work empties before
/// every step. For `seconds`, at least 100 steps. The two readings of the clock around each kernel are in it.
host_work measure_host_work(uint32_t rows, uint32_t layers, uint32_t context, double seconds);

}  // namespace troupe::llm
