// Chooses the next tokens of a step on the CPU.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "messages/llm/token_choice.hpp"

namespace troupe::llm {

/// logits: [samplings.size(), vocabulary]. `out` gets one entry for each of them; its memory is used again.
/// The same whatever else is sampled, and however many threads there are. Requires: the tokens of counts and
/// biases are of the vocabulary.
void choose_tokens(std::span<const float> logits, uint32_t vocabulary,
                   std::span<const token_sampling> samplings, std::vector<chosen_token>& out);

}  // namespace troupe::llm
