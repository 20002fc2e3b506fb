#include "tools/office_holder.hpp"

#include <algorithm>

namespace troupe {

node_id office_holder(const cluster_spec& cluster, const std::function<nlohmann::json(node_id)>& status) {
  auto holder = scheduler_of(cluster);
  if (!has_standby(cluster)) return holder;
  uint64_t latest = 0;
  for (const auto n : line_of_succession(cluster)) {
    const auto said = status(n);
    if (!said.is_object() || !said.contains("office")) continue;
    const auto& office = said["office"];
    const auto reign = office.value("epoch", uint64_t{0});
    const auto named = std::ranges::find(cluster.nodes, office.value("scheduler", ""), &node_spec::name);
    if (reign <= latest || named == cluster.nodes.end()) continue;
    latest = reign;
    holder = node_id{static_cast<uint32_t>(named - cluster.nodes.begin())};
  }
  return holder;
}

}  // namespace troupe
