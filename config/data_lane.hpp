// What carries the data lane of a cluster.
#pragma once
#include <vector>

#include "messages/cluster/cluster.hpp"

namespace troupe {

/// Whether all nodes are on one host: they have the same `host`, or loopback addresses only. Resolves names,
/// which may block.
bool on_one_host(const std::vector<node_spec>& nodes);

/// What `[data_lane] transport` means for this cluster, never `automatic`: TLS if it needs a network and has
/// certificates, else UCX. Likewise.
data_transport transport_of(const cluster_spec& cluster);

}  // namespace troupe
