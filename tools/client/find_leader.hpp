// Finds the leader of a running cluster.
#pragma once
#include <functional>
#include <nlohmann/json.hpp>

#include "messages/cluster/cluster.hpp"

namespace troupe {

/// `status` returns the status of a node's console, or any other value if it does not answer. Of the leader
/// candidates' answers, the one with the latest term counts: a deposed leader that was frozen may not know
/// the new term yet. Returns the first node of the file if none answers. Without standbys no node is asked.
node_id find_leader(const cluster_spec& cluster, const std::function<nlohmann::json(node_id)>& status);

}  // namespace troupe
