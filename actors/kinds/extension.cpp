#include "actors/extension/extension.hpp"

#include "actors/kinds/actor_kind.hpp"

namespace troupe {

/// In a group of their own: a slow actor of a plug-in keeps no actor of Troupe's waiting.
void spawn_extension(const spawn_context& node) {
  const auto& actors = node.cluster.actors;
  for (uint32_t i = 0; i < actors.size(); ++i) {
    if (actors[i].node != node.self) continue;
    auto& group = node.hosts.shared(role::extension);
    group.adopt(make_extension(node.cluster, node.name(role::extension, i), group));
  }
}

}  // namespace troupe
