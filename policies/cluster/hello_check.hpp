// Check of a hello: is the sender a node of this cluster?
#pragma once
#include <optional>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/cluster/membership.hpp"

namespace troupe {

/// The engines that this node has decided on, for its hello.
std::vector<engine_decision> engines_of(const cluster_spec& cluster);

/// The rejection of a hello whose sender runs another version, was started with another cluster file, or has
/// chosen another engine for one of its models; nothing for a node of this cluster. Such a rejection is
/// final: a new incarnation does not help.
std::optional<rejection> check_hello(const cluster_spec& cluster, node_id self, const hello& h);

}  // namespace troupe
