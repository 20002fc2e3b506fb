#include "actors/extension/extension.hpp"

#include "actors/kinds/actor_kind.hpp"

namespace troupe {
namespace {

bool may_run_extension(const cluster_spec& cluster, node_id node, uint32_t actor) {
  return actor < cluster.actors.size() && cluster.actors[actor].node == node;
}

/// Actors of plug-ins share a group of their own, so that a slow one does not delay Troupe's actors.
void spawn_extension(const spawn_context& node) {
  const auto& actors = node.cluster.actors;
  for (uint32_t i = 0; i < actors.size(); ++i) {
    if (actors[i].node != node.self) continue;
    auto& group = node.hosts.shared(role::extension);
    group.adopt(make_extension(node.cluster, node.name(role::extension, i), group));
  }
}

}  // namespace

constinit const actor_kind extension_actor_kind{
    .kind = role::extension,
    .one_per = "`[[actor]]` of the cluster file",
    .does = "runs the actor of a plug-in",
    .may_run_on = may_run_extension,
    .spawn = spawn_extension,
};

}  // namespace troupe
