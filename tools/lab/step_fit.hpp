// The time of a language model's steps, from steps that were measured: `troupe profile --model`.
#pragma once
#include <span>
#include <vector>

#include "messages/llm/step_latency.hpp"

namespace troupe {

struct step_sample {
  llm::step_shape shape;
  duration took{};
  bool held_out = false;  ///< not fitted: to see what the fit says of steps that it does not know
};

/// How far off a step's time is: |fitted - measured| / measured.
struct step_error {
  double mean = 0, largest = 0;
};

struct step_fit {
  llm::step_latency latency;
  step_error fitted, held_out;
};

/// The terms, none of them negative, with the least sum of squared relative errors, so that short steps count
/// as much as long ones. Requires: a sample to be fitted, all took time.
step_fit fit_steps(std::span<const step_sample> samples);

double relative_error(const llm::step_latency& fit, const step_sample& s);

}  // namespace troupe
