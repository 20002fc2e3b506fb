// `troupe status FILE`: asks every node of a running cluster how it is.
#pragma once
#include "messages/cluster.hpp"

namespace troupe {

/// Prints a table, or one JSON document. Returns 0 if every node answered and is ready, else 1.
int status(const cluster_spec& cluster, bool json);

}  // namespace troupe
