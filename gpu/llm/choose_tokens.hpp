// Samples the next tokens of a step on the CPU.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "messages/llm/token_choice.hpp"

namespace troupe::llm {

/// logits: [samplings.size(), vocabulary]. `out` gets one entry for each sampling; its memory is reused. A
/// result does not depend on the other samplings or on the number of threads. Requires: the tokens of counts
/// and biases are in the vocabulary.
void choose_tokens(std::span<const float> logits, uint32_t vocabulary,
                   std::span<const token_sampling> samplings, std::vector<chosen_token>& out);

}  // namespace troupe::llm
