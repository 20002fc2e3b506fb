#include <algorithm>

#include "tools/sim/world_state.hpp"

namespace troupe::sim {

void world::state::begin_process(node_id id) {
  auto& n = nodes[id.value];
  if (n.running) return;
  if (time.frozen(id)) return time.at(time.now() + 1ms, sim_event::fault, [this, id] { begin_process(id); });
  time.begin_process(id);
  checks.ledgers.begin(id);
  n.running = std::make_unique<process>(
      id, ++processes,
      process::environment{system,
                           cluster,
                           time,
                           network,
                           memory,
                           n.clock,
                           asking.port(id),
                           reading.port(id),
                           *this,
                           [this](node_id at, role group, const envelope& e) { delivered(at, group, e); },
                           [this](node_id by, std::span<const envelope> all) { sent(by, all); },
                           [&n](incarnation_id last) {
                             return n.incarnation = {std::max(n.incarnation.value, last.value) + 1};
                           },
                           [this, id](const std::string& why) {
                             checks.broken.add("exception", why);
                             die(id);
                           },
                           [this, id] { drained(id); },
                           [this](const std::string& what) { checks.broken.add("weights", what); },
                           [this](const std::string& what) { checks.broken.add("ready", what); },
                           [this](const std::string& name) { return model_named(name); },
                           [this](const model_spec& m) { return latency_on_devices(m); },
                           options.seed,
                           options.caf_host_per_actor,
                           options.instant ? duration{} : usual_timing.interval,
                           options.steps_ahead,
                           options.images,
                           [this, id](weights_id) { images_complete(id); }});
}

void world::state::end_process(node_id id, bool reset) {
  auto& n = nodes[id.value];
  if (!n.running) return;
  check_ledger(id);
  asking.gateway_died(id);
  reading.gateway_died(id);
  time.end_process(id);
  handovers.lose(id);
  network.crash(id, reset);
  for (uint32_t m = 0; m < cluster.llms.size(); ++m)
    if (n.running->images().has_all({m})) holder_died[weights_id{m}] = time.now();
  n.running->kill();
  settle();
  const auto number = n.running->number();
  n.running.reset();
  checks.plans.ended(id);
  checks.shard_orders.ended(id);
  for (uint32_t i = 0; i < cluster.slots.size(); ++i) {
    if (cluster.slots[i].node != id) continue;
    checks.terms.ended(slot_id{i});
    checks.once.ended(slot_id{i});
  }
  // Registered memory stays readable for some time, like shared memory.
  const auto grace = duration{static_cast<int64_t>(chance.below(2'000'000'000))};
  time.at(time.now() + grace, sim_event::fault, [this, number] { memory.forget(number); });
}

void world::state::die(node_id id) {
  const auto number = nodes[id.value].running->number();
  const auto back = time.now() + 200ms;
  faults_end = std::max(faults_end, back);
  time.at(time.now(), sim_event::fault, [this, id, number, back] {
    if (!nodes[id.value].running || nodes[id.value].running->number() != number) return;
    end_process(id, chance.below(2) == 0);
    time.at(back, sim_event::fault, [this, id] { begin_process(id); });
  });
}

void world::state::drained(node_id id) {
  const auto number = nodes[id.value].running->number();
  time.at(time.now(), sim_event::fault, [this, id, number] {
    auto& n = nodes[id.value];
    if (!n.running || n.running->number() != number) return;
    const bool decides = id == scheduler_of(cluster) && everybody_reachable && !has_standby(cluster);
    checks.drains.left(id, decides ? asking.waiting() : asking.waiting_at(id), n.running->running_batches());
    end_process(id, true);
    for (const auto& c : workload.changes)
      if (c.what == change_event::kind::drain && c.node == id && c.back_after > duration{}) {
        faults_end = std::max(faults_end, time.now() + c.back_after);
        time.at(time.now() + c.back_after, sim_event::fault, [this, id] { begin_process(id); });
      }
  });
}

deployer::model_reading world::state::model_named(const std::string& name) const {
  for (const auto& m : models)
    if (m.name == name) return {m, {}};
  return {{}, "no such model"};
}

latency_model world::state::latency_on_devices(const model_spec& m) const {
  if (m.latency == latency_model{})
    for (const auto& load : workload.models)
      if (models[load.model.value].name == m.name) return load.latency;
  return m.latency;
}

}  // namespace troupe::sim
