#include "tools/node/real_devices.hpp"

#include "actors/runtime/direct_turns.hpp"

namespace troupe {

real_devices::real_devices(const cluster_spec& cluster, node_id self, const clock& time)
    : cluster_(cluster),
      self_(self),
      time_(time),
      images_(cluster, self),
      slots_(cluster, self, time, images_.files(), [this](slot_id slot) {
        const direct_turns here;
        notify(role::gpu_worker, slot.value);
      }) {}

void real_devices::notify(role kind, uint32_t index) {
  if (auto* to = post_.load()) to->send({self_, {}, kind, index}, device_ready{});
}

device_part real_devices::part() {
  return {[this](slot_id slot) -> device& { return slots_.at(slot); },
          slots_,
          [this](engine_id id) -> llm::engine_device& { return engines_->at(id); },
          [this](llm_id model) { return adapters_of(cluster_.llms[model.value]); },
          moves_weights(cluster_) ? &images_ : nullptr,
          [this](registered_memory arena) { images_.use_arena(arena); },
          [this](registered_memory arena) {
            engines_.emplace(cluster_, self_, time_, images_, arena,
                             [this](engine_id id) { notify(role::llm_engine, id.value); });
          }};
}

void real_devices::connect(post& post) {
  post_ = &post;
  for (uint32_t i = 0; i < cluster_.engines.size(); ++i)
    if (cluster_.engines[i].node == self_) notify(role::llm_engine, i);
}

void real_devices::clear() {
  engines_->clear();
  slots_.clear();
}

}  // namespace troupe
