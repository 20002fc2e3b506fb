// Check of a hello: is the sender a node of this cluster?
#pragma once
#include <optional>

#include "messages/cluster/cluster.hpp"
#include "messages/cluster/membership.hpp"

namespace troupe {

/// The rejection of a hello whose sender runs another version or was started with another cluster file;
/// nothing for a node of this cluster. Such a rejection is final: a new incarnation does not help.
std::optional<rejection> check_hello(const cluster_spec& cluster, node_id self, const hello& h);

}  // namespace troupe
