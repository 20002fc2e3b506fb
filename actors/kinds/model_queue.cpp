#include "actors/kinds/model_queues.hpp"

namespace troupe {
namespace {

bool may_run_model_queue(const cluster_spec& cluster, node_id node, uint32_t) {
  return cluster.nodes[node.value].schedules();
}

void spawn_model_queue(const spawn_context& node) {
  if (node.me().schedules()) node.queues.spawn(node);
}

}  // namespace

constinit const actor_kind model_queue_actor_kind{
    .kind = role::model_queue,
    .one_per = "model",
    .does =
        "queues requests, keeps one candidate registered with the arbiter, forms the batch when a grant "
        "arrives",
    .may_run_on = may_run_model_queue,
    .spawn = spawn_model_queue,
};

}  // namespace troupe
