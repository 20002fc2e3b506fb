#include "actors/extension/extension.hpp"

#include "actors/kinds/actor_kind.hpp"

namespace troupe {

/// Actors of plug-ins share a group of their own, so that a slow one does not delay Troupe's actors.
void spawn_extension(const spawn_context& node) {
  const auto& actors = node.cluster.actors;
  for (uint32_t i = 0; i < actors.size(); ++i) {
    if (actors[i].node != node.self) continue;
    auto& group = node.hosts.shared(role::extension);
    group.adopt(make_extension(node.cluster, node.name(role::extension, i), group));
  }
}

}  // namespace troupe
