#include "actors/scaling/scale_planner.hpp"

#include <algorithm>

#include "actors/kinds/actor_kind.hpp"

namespace troupe {
namespace {

bool may_run_scale_planner(const cluster_spec& cluster, node_id node, uint32_t) {
  return cluster.nodes[node.value].schedules() && std::ranges::any_of(cluster.llms, [](const llm_spec& m) {
           return m.loop.mode != autoscale_mode::off;
         });
}

void spawn_scale_planner(const spawn_context& node) {
  if (may_run_scale_planner(node.cluster, node.self, 0))
    node.hosts.shared(role::scale_planner).add<scale_planner>(node.name(role::scale_planner), node.cluster);
}

}  // namespace

constinit const actor_kind scale_planner_actor_kind{
    .kind = role::scale_planner,
    .one_per = "leader candidate of a cluster with an `[llm.scaling]`",
    .does = "gives language models the number of instances that their load needs; only the leader's does",
    .may_run_on = may_run_scale_planner,
    .spawn = spawn_scale_planner,
};

}  // namespace troupe
