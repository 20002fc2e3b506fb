// `troupe why`: the decisions of a running cluster about a request, with their rules and numbers.
#pragma once
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct why_options {
  std::string request;  ///< its id, from the response header Troupe-Request-Id
  std::string model;    ///< ask only the queue of this one; empty: all
  bool json = false;
};

/// Prints a timeline, or one JSON document (tools/common/decision_story.hpp). Returns 0, 1 if no queue
/// remembers the request, 2 for invalid options.
int why(const cluster_spec& cluster, const why_options& options);

}  // namespace troupe
