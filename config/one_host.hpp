// Whether a cluster needs a network.
#pragma once
#include <vector>

#include "messages/cluster/cluster.hpp"

namespace troupe {

/// Whether all nodes are on one host: they have the same `host`, or loopback addresses only. Resolves names,
/// which may block.
bool on_one_host(const std::vector<node_spec>& nodes);

}  // namespace troupe
