// What an engine wishes of the next tokens, in the terms of the sampling kernel.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "messages/token_choice.hpp"

namespace troupe::llm {

/// logits: [wishes.size(), vocabulary]. `out` gets one entry for each wish; its memory is used again. The
/// same whatever else is wished for, and however many threads there are. Requires: the tokens of counts and
/// biases are of the vocabulary.
void choose_tokens(std::span<const float> logits, uint32_t vocabulary, std::span<const choice_wish> wishes,
                   std::vector<chosen_token>& out);

}  // namespace troupe::llm
