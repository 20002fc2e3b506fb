// `troupe status FILE`: asks every node of a running cluster for its status.
#pragma once
#include <string>
#include <vector>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct status_options {
  std::vector<std::string> wait;  ///< a condition, "ready" or "down", and the timeout in seconds
  bool json = false;
};

/// Prints a table, or one JSON document. Returns 0 if every node answered and is ready (waiting for `down`:
/// if none answers), 1 if not, 2 for an invalid condition.
int status(const cluster_spec& cluster, const status_options& options);

}  // namespace troupe
