// Sampling of a row's next token from its logits.
//
// The order is that of Hugging Face's and vLLM's processors: biases are added; penalties are applied
// (repetition: tokens of prompt or output have positive logits divided and others multiplied by it; frequency
// times the count in the output, and presence once, are subtracted); division by the temperature; top_k most
// likely (ties: the lower ids); of these, the fewest whose share reaches top_p; of these, those at least
// min_p times as likely as the most likely. From the rest, in the order of ids, one is drawn with
// uniform(seed, position) of philox.hpp, so that batching, preemption and migration do not change the result.
//
// Log-probabilities are of the raw logits: before biases, penalties and temperature.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

namespace troupe::kernels {

struct sampling_parameters {
  float temperature = 1;  ///< 0: greedy; ties: the lowest id
  uint32_t top_k = 0;     ///< 0: all
  float top_p = 1;        ///< share in (0, 1]
  float min_p = 0;        ///< share of the most likely token's probability, in [0, 1]
  float repetition_penalty = 1, presence_penalty = 0, frequency_penalty = 0;
  uint64_t seed = 0;

  bool has_penalties() const {
    return repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0;
  }
};

struct token_count {
  uint32_t token = 0;
  uint32_t prompt = 0, output = 0;  ///< occurrences in each
};

struct token_bias {
  uint32_t token = 0;
  float bias = 0;  ///< minus infinity: never chosen
};

struct token_logprob {
  uint32_t token = 0;
  float logprob = 0;  ///< natural logarithm
};

inline constexpr uint32_t no_token = std::numeric_limits<uint32_t>::max();

struct sampling_args {
  const float* logits = nullptr;  ///< [vocabulary]
  uint32_t vocabulary = 0;
  sampling_parameters parameters;
  const token_count* counts = nullptr;  ///< [count_entries], each token once
  size_t count_entries = 0;
  const token_bias* biases = nullptr;  ///< [bias_entries], each token once
  size_t bias_entries = 0;
  uint64_t position = 0;         ///< of the chosen token in its sequence
  token_logprob* top = nullptr;  ///< [top_entries], written: the most likely tokens; ties by id
  uint32_t top_entries = 0;      ///< at most `vocabulary`
};

/// Returns the chosen token. It is no_token, and nothing is written, if a logit is NaN or plus infinity, if
/// none is finite, or if biases and penalties leave no valid distribution.
token_logprob sampling_reference(const sampling_args& args);
token_logprob sampling(const sampling_args& args);

}  // namespace troupe::kernels
