// How an engine has its device sample after a step, and what was chosen. Never on the wire.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "messages/llm/generation.hpp"
#include "messages/llm/sampling.hpp"

namespace troupe::llm {

/// How often a token occurs in a sequence.
struct token_frequency {
  token which = 0;
  uint32_t prompt = 0, output = 0;
};

/// How to sample after one of `llm_step::sampled`.
struct token_sampling {
  const sampling_params* params = nullptr;
  uint64_t seed = 0;  ///< in place of `params->seed`
  /// Of its sequence, each token once; may be empty without penalties. Of a row whose token is
  /// `chosen_before` that one is not in them: it counts as one more of the output.
  std::span<const token_frequency> counts;
  uint64_t position = 0;  ///< of the token that is chosen, in its sequence
  uint32_t top = 0;       ///< so many of the most likely ones are to be told
};

struct chosen_token {
  token which = 0;
  float logprob = 0;
  std::vector<token_chance> top;
  bool valid = false;  ///< false: the model gave no numbers to choose from
};

}  // namespace troupe::llm
