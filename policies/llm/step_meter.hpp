// Forecast of an engine's step times, fitted to the steps that it ran. Used to check targets of sequences in
// advance.
#pragma once
#include <cstdint>

#include "messages/llm/generation.hpp"
#include "policies/common/nonnegative_fit.hpp"

namespace troupe::llm {

/// Fits the step time to the number of decodes and of tokens of prompts. Recent steps count more.
class step_meter {
 public:
  /// Adds a finished step.
  void add(uint32_t decodes, uint32_t prompt_tokens, duration took);

  /// Zero until the first step.
  step_forecast forecast() const;
  /// Mean tokens of prompts in recent steps.
  double prompt_tokens() const { return weight_ > 0 ? prompt_tokens_ / weight_ : 0; }

 private:
  nonnegative_fit<3> fit_;
  double weight_ = 0, prompt_tokens_ = 0;
};

}  // namespace troupe::llm
