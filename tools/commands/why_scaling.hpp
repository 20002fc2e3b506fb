// `troupe why --scale`: the latest decisions on the number of instances of language models, with the load,
// the bounds and the plan behind each.
#pragma once
#include <cstdint>
#include <string>

#include "messages/cluster/cluster.hpp"
#include "messages/scaling/commands.hpp"

namespace troupe {

struct why_scaling_options {
  uint32_t decisions = 0;  ///< that are printed at most
  std::string model;       ///< empty: all
  bool json = false;
};

/// The newest first. Returns 0, 1 if no scale planner answers, 2 for a model without a scaling loop.
int why_scaling(const cluster_spec& cluster, const why_scaling_options& options);

/// A few lines.
std::string decision_text(const scaling_decision& d);

}  // namespace troupe
