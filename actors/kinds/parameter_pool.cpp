#include "actors/scaling/parameter_pool.hpp"

#include <algorithm>

#include "actors/kinds/actor_kind.hpp"

namespace troupe {
namespace {

bool may_run_parameter_pool(const cluster_spec& cluster, node_id node, uint32_t) {
  return cluster.nodes[node.value].schedules() && moves_weights(cluster);
}

void spawn_parameter_pool(const spawn_context& node) {
  if (!may_run_parameter_pool(node.cluster, node.self, 0)) return;
  const auto* images = node.env.devices.images;
  node.hosts.shared(role::parameter_pool)
      .add<parameter_pool>(node.name(role::parameter_pool), node.cluster, [images](llm_id m) {
        return images == nullptr ? 0 : images->bytes(weights_of(m));
      });
}

}  // namespace

constinit const actor_kind parameter_pool_actor_kind{
    .kind = role::parameter_pool,
    .one_per = "leader candidate of a cluster whose weights move",
    .does = "orders instances of models and copies of their weights; only the leader's does",
    .may_run_on = may_run_parameter_pool,
    .spawn = spawn_parameter_pool,
};

}  // namespace troupe
