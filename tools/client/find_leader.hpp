// Who is the leader, as a running cluster says.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>

#include "messages/cluster/cluster.hpp"

namespace troupe {

/// `status` gives what a node's console says of itself, or anything else if it does not answer. Of the nodes
/// that may lead, the one that knows the latest term is believed: a leader that was deposed while
/// it stood still may not know it yet. The first of the file if none says anything, or if there is no standby
/// (then nobody is asked).
node_id find_leader(const cluster_spec& cluster, const std::function<nlohmann::json(node_id)>& status);

}  // namespace troupe
