#include "messages/cluster/find_node.hpp"

#include <vector>

#include "messages/common/near.hpp"

namespace troupe {
namespace {

template <class T>
std::string none_called(std::string_view kind, std::string_view name, const std::vector<T>& things) {
  std::vector<std::string_view> known;
  for (const auto& t : things) known.push_back(t.name);
  return "the cluster has no " + std::string(kind) + " '" + std::string(name) + "'" + hint(name, known);
}

}  // namespace

std::optional<node_id> find_node(const cluster_spec& cluster, std::string_view name) {
  for (uint32_t i = 0; i < cluster.nodes.size(); ++i)
    if (cluster.nodes[i].name == name) return node_id{i};
  return {};
}

std::string no_such_node(const cluster_spec& cluster, std::string_view name) {
  return none_called("node", name, cluster.nodes);
}

std::string no_such_domain(const cluster_spec& cluster, std::string_view name) {
  if (cluster.domains.empty()) return "the cluster has no [[domain]] to move a model to";
  return none_called("domain", name, cluster.domains);
}

}  // namespace troupe
