// Nodes and domains of a cluster file by name, and the answer if there is none of that name.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "messages/cluster/cluster.hpp"

namespace troupe {

std::optional<node_id> find_node(const cluster_spec& cluster, std::string_view name);

/// "the cluster has no node 'x'", with the name that may be meant, or the names that there are.
std::string no_such_node(const cluster_spec& cluster, std::string_view name);
std::string no_such_domain(const cluster_spec& cluster, std::string_view name);

}  // namespace troupe
