// Fits the latency model of a language model's steps to measured steps: `troupe profile --model`.
#pragma once
#include <span>
#include <vector>

#include "messages/llm/step_latency.hpp"

namespace troupe {

struct step_sample {
  llm::step_shape shape;
  duration took{};
  bool held_out = false;  ///< not part of the fit: to test the fit on unseen steps
};

/// The relative error of a step's time: |fitted - measured| / measured.
struct step_error {
  double mean = 0, largest = 0;
};

struct step_fit {
  llm::step_latency latency;
  step_error fitted, held_out;
};

/// The non-negative terms with the least sum of squared relative errors, so that short steps count as much as
/// long ones. Requires: at least one sample that is not held out; all times > 0.
step_fit fit_steps(std::span<const step_sample> samples);

double relative_error(const llm::step_latency& fit, const step_sample& s);

}  // namespace troupe
