// Estimates from the step forecast of an engine.
#pragma once
#include <cstdint>

#include "messages/llm/generation.hpp"

namespace troupe::llm {

/// Lower bound of the time to prefill `tokens`, `chunk` per step, beside `decodes` sequences that decode.
duration prefill_time(uint64_t tokens, uint32_t chunk, uint32_t decodes, const step_forecast& steps);

/// Maximum of running sequences so that each gets its next token within `tpot`, with `prompt_tokens` of
/// prompts per step in the mean. At least one; unlimited without a target (zero) or a forecast.
uint32_t sequences_within(duration tpot, double prompt_tokens, const step_forecast& steps);

}  // namespace troupe::llm
