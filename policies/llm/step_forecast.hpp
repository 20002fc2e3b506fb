// What follows from how long an engine's steps take.
#pragma once
#include <cstdint>

#include "messages/llm/generation.hpp"

namespace troupe::llm {

/// How long it takes at least to prefill so many tokens, `chunk` in a step, beside so many decodes.
duration prefill_time(uint64_t tokens, uint32_t chunk, uint32_t decodes, const step_forecast& steps);

/// Sequences that may run at once so that each has its next token within `tpot`, if steps read so many tokens
/// of prompts in the mean. At least one, and any number without a target (zero) or a forecast.
uint32_t sequences_within(duration tpot, double prompt_tokens, const step_forecast& steps);

}  // namespace troupe::llm
