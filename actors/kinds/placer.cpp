#include "actors/cluster/placer.hpp"

#include "actors/kinds/actor_kind.hpp"

namespace troupe {

void spawn_placer(const spawn_context& node) {
  if (node.me().has(node_role::scheduler) && node.cluster.placer.epoch > duration{})
    node.hosts.own().add<placer>(node.name(role::placer), node.cluster);  // own group: its search is slow
}

}  // namespace troupe
