// Sampling after a step: the device's inputs and results. Never on the wire.
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

/// Inputs for sampling after one row of `llm_step::sampled`.
struct token_sampling {
  const sampling_params* params = nullptr;
  uint64_t seed = 0;  ///< in place of `params->seed`
  /// Counts of the sequence's tokens, each token once; may be empty without penalties. If the row's token is
  /// `chosen_before`, the counts lack it: it counts as one more of the output.
  std::span<const token_frequency> counts;
  uint64_t position = 0;  ///< position of the chosen token in its sequence
  uint32_t top = 0;       ///< number of most likely tokens to return
};

struct chosen_token {
  token which = 0;
  float logprob = 0;
  std::vector<token_chance> top;
  bool valid = false;  ///< false: the model's logits are not numbers
};

}  // namespace troupe::llm
