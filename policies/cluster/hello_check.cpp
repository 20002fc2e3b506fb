#include "policies/cluster/hello_check.hpp"

#include <string>

#include "messages/common/version.hpp"

namespace troupe {

std::vector<engine_decision> engines_of(const cluster_spec& cluster) {
  std::vector<engine_decision> out;
  for (uint32_t i = 0; i < cluster.models.size(); ++i)
    if (const auto engine = cluster.models[i].decided_engine; engine != model_engine::automatic)
      out.push_back({model_id{i}, engine});
  return out;
}

std::optional<rejection> check_hello(const cluster_spec& cluster, node_id self, const hello& h) {
  const auto& name = node_name(cluster, self);
  if (h.version != version)
    return rejection{self,
                     h.incarnation,
                     {},
                     rejection_reason::other_version,
                     "node '" + name + "' runs version " + std::string(version) + ", this one " + h.version};
  if (h.cluster_hash != cluster.hash)
    return rejection{self,
                     h.incarnation,
                     {},
                     rejection_reason::other_file,
                     "node '" + name + "' was started with another cluster file (hash " + cluster.hash +
                         ", this one " + h.cluster_hash + ")"};
  for (const auto& [model, theirs] : h.engines) {
    if (model.value >= cluster.models.size()) continue;
    const auto& m = cluster.models[model.value];
    if (m.decided_engine == theirs || m.decided_engine == model_engine::automatic) continue;
    return rejection{self,
                     h.incarnation,
                     {},
                     rejection_reason::other_engine,
                     "node '" + name + "' runs model '" + m.name + "' by the engine " +
                         std::string(to_string(m.decided_engine)) + ", this one by " +
                         std::string(to_string(theirs)) +
                         "; start all nodes from the same build, or give the model an engine"};
  }
  return {};
}

}  // namespace troupe
