#include "actors/cluster/placer.hpp"

#include "actors/kinds/actor_kind.hpp"

namespace troupe {
namespace {

bool may_run_placer(const cluster_spec& cluster, node_id node, uint32_t) {
  return cluster.nodes[node.value].has(node_role::scheduler);
}

void spawn_placer(const spawn_context& node) {
  if (node.me().has(node_role::scheduler) && node.cluster.placer.epoch > duration{})
    node.hosts.own().add<placer>(node.name(role::placer), node.cluster);  // own group: its search is slow
}

}  // namespace

constinit const actor_kind placer_actor_kind{
    .kind = role::placer,
    .one_per = "cluster with a `[placer]`",
    .does = "searches every epoch for a better partition of the models over the domains, and moves them",
    .may_run_on = may_run_placer,
    .spawn = spawn_placer,
};

}  // namespace troupe
