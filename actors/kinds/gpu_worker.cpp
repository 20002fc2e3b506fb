#include "actors/tensor/gpu_worker.hpp"

#include "actors/kinds/actor_kind.hpp"

namespace troupe {
namespace {

bool may_run_gpu_worker(const cluster_spec& cluster, node_id node, uint32_t slot) {
  return slot < cluster.slots.size() && cluster.slots[slot].node == node;
}

void spawn_gpu_worker(const spawn_context& node) {
  if (!node.me().has(node_role::worker)) return;
  const auto& slots = node.cluster.slots;
  for (uint32_t i = 0; i < slots.size(); ++i)
    if (slots[i].node == node.self)
      node.hosts.shared(role::gpu_worker)
          .add<gpu_worker>(node.name(role::gpu_worker, i), gpu_worker::options{slot_id{i}, node.me().domain},
                           node.env.devices.of_slot(slot_id{i}), node.memory);
}

}  // namespace

constinit const actor_kind gpu_worker_actor_kind{
    .kind = role::gpu_worker,
    .one_per = "execution slot",
    .does = "pulls inputs while the previous batch runs, runs batches, offers outputs",
    .may_run_on = may_run_gpu_worker,
    .spawn = spawn_gpu_worker,
};

}  // namespace troupe
