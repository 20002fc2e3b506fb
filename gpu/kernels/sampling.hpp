// The choice of a row's next token from its logits.
//
// In the order of Hugging Face's and vLLM's processors: biases are added; then the penalties (repetition:
// tokens of prompt or output have positive logits divided and others multiplied by it; frequency times the
// count in the output, and presence once, are subtracted); division by the temperature; of what is left the
// top_k most likely (equal ones: the lower ids); of these the fewest whose share reaches top_p; of these the
// ones at least min_p times as likely as the most likely. From the rest, in the order of their ids, one is
// drawn with uniform(seed, position) of philox.hpp: batching, preemption and migration change nothing.
//
// Log-probabilities are of the logits as they came: before biases, penalties and temperature.
#pragma once
#include <cstddef>
#include <cstdint>
#include <limits>

namespace troupe::kernels {

struct sampling_parameters {
  float temperature = 1;  ///< 0: the most likely token, of equal ones the lowest id
  uint32_t top_k = 0;     ///< 0: all
  float top_p = 1;        ///< share in (0, 1]
  float min_p = 0;        ///< share of the most likely one, in [0, 1]
  float repetition_penalty = 1, presence_penalty = 0, frequency_penalty = 0;
  uint64_t seed = 0;

  bool has_penalties() const {
    return repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0;
  }
};

struct token_count {
  uint32_t token = 0;
  uint32_t prompt = 0, output = 0;  ///< how often it is in them
};

struct token_bias {
  uint32_t token = 0;
  float bias = 0;  ///< minus infinity: never
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
  uint64_t position = 0;         ///< of the token that is chosen, in its sequence
  token_logprob* top = nullptr;  ///< [top_entries]: written, the most likely tokens, equal ones by id
  uint32_t top_entries = 0;      ///< at most `vocabulary`
};

/// `token` is no_token, and nothing else is written, if a logit is NaN or plus infinity or none is finite, or
/// if biases and penalties leave no number to choose from.
token_logprob sampling_reference(const sampling_args& args);
token_logprob sampling(const sampling_args& args);

}  // namespace troupe::kernels
