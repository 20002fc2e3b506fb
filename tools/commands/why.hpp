// `troupe why`: what a running cluster decided about a request, and by which rules and numbers.
#pragma once
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct why_options {
  std::string request;  ///< its id, as the header Troupe-Request-Id of its answer has it
  std::string model;    ///< ask only the queue of this one; empty: all
  bool json = false;
};

/// Prints a time line, or one JSON document (decision_story.hpp). Returns 0, 1 if nobody remembers the
/// request, 2 if the options make no sense.
int why(const cluster_spec& cluster, const why_options& options);

}  // namespace troupe
