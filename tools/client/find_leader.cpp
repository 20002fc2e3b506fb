#include "tools/client/find_leader.hpp"

#include <algorithm>

namespace troupe {

node_id find_leader(const cluster_spec& cluster, const std::function<nlohmann::json(node_id)>& status) {
  auto found = scheduler_of(cluster);
  if (!has_standby(cluster)) return found;
  uint64_t latest = 0;
  for (const auto n : leader_candidates(cluster)) {
    const auto said = status(n);
    if (!said.is_object() || !said.contains("leader")) continue;
    const auto& said_leader = said["leader"];
    const auto term = said_leader.value("term", uint64_t{0});
    const auto named = std::ranges::find(cluster.nodes, said_leader.value("scheduler", ""), &node_spec::name);
    if (term <= latest || named == cluster.nodes.end()) continue;
    latest = term;
    found = node_id{static_cast<uint32_t>(named - cluster.nodes.begin())};
  }
  return found;
}

}  // namespace troupe
