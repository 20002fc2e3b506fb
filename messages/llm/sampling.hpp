// Sampling parameters: how the next token of a sequence is chosen. gpu/kernels/sampling.hpp defines each of
// them.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/common/message.hpp"
#include "messages/llm/token.hpp"

namespace troupe::llm {

struct token_bias {
  token which = 0;
  float bias = 0;  ///< added to its logit
  TROUPE_MESSAGE(token_bias, which, bias)
  bool operator==(const token_bias&) const = default;
};

struct sampling_params {
  float temperature = 1;  ///< 0: the most likely token
  uint32_t top_k = 0;     ///< 0: all
  float top_p = 1;        ///< in (0, 1]
  float min_p = 0;        ///< in [0, 1]
  float repetition_penalty = 1;
  float presence_penalty = 0;
  float frequency_penalty = 0;
  uint64_t seed = 0;  ///< with a token's position it determines the draw, independently of the batch
  std::vector<token_bias> biases;  ///< each token once
  bool has_penalties() const {
    return repetition_penalty != 1 || presence_penalty != 0 || frequency_penalty != 0;
  }
  TROUPE_MESSAGE(sampling_params, temperature, top_k, top_p, min_p, repetition_penalty, presence_penalty,
                 frequency_penalty, seed, biases)
  bool operator==(const sampling_params&) const = default;
};

}  // namespace troupe::llm
