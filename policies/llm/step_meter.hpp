// How long the next steps of an engine will take, from those that it ran: what deadlines of sequences are
// held against before it is too late.
#pragma once
#include <cstdint>

#include "messages/llm/generation.hpp"
#include "policies/common/nonnegative_fit.hpp"

namespace troupe::llm {

/// Fits a step's time by the sequences that it gives a token and the tokens of prompts that it reads. Recent
/// steps count more.
class step_meter {
 public:
  /// A step took so long, with so many decodes and tokens of prompts.
  void add(uint32_t decodes, uint32_t prompt_tokens, duration took);

  /// Zero until the first step.
  step_forecast forecast() const;
  /// Of a step, in the mean of recent ones.
  double prompt_tokens() const { return weight_ > 0 ? prompt_tokens_ / weight_ : 0; }

 private:
  nonnegative_fit<3> fit_;
  double weight_ = 0, prompt_tokens_ = 0;
};

}  // namespace troupe::llm
