// A cluster whose language model scales over six places on three workers.
#pragma once
#include <algorithm>
#include <vector>

#include "policies/common/random.hpp"
#include "tests/sim/llm_cluster.hpp"

namespace troupe::sim {

inline cluster_spec scaling_cluster(uint32_t copies = 1) {
  auto c = llm_cluster();
  auto& m = c.llms[0];
  m.scales = true;
  m.instances = 2;
  m.min_instances = 1;
  m.max_instances = 6;
  m.cold_start = 2s;
  c.scaling.copies = copies;
  c.scaling.chunk_bytes = 16 << 10;
  c.scaling.window = 3;
  c.scaling.park = 200ms;
  link_spec slow{{}, 0.1};  // transfers take tens of milliseconds, so that faults hit some
  for (const auto& n : c.nodes) slow.nodes.push_back(n.name);
  c.links = {slow};
  return c;
}

/// The same cluster, whose models have instances that prefill only, and others that decode.
inline cluster_spec with_phases(cluster_spec c) {
  for (auto& m : c.llms) {
    m.prefill_instances = m.decode_instances = 1;
    m.instances = 2;
    m.min_instances = std::min(m.min_instances, 2u);
  }
  for (auto& e : c.engines) e.phase = instance_phase::prefill;
  return c;
}

/// The same cluster, whose models get the number of instances that their load needs.
inline cluster_spec with_loops(cluster_spec c) {
  for (auto& m : c.llms) {
    m.loop.mode = autoscale_mode::apply;
    m.loop.window = 200ms;
    m.loop.backlog = 500ms;
    m.loop.scale_down = 200ms;
  }
  return c;
}

/// Requests at equal distances: `rate` a second, five times as many in the second half of the first second.
inline workload_spec burst_workload(double rate, double burst = 5) {
  workload_spec w;
  w.length = 4s;
  w.clocks = {3h, 50};
  for (double at = 0; at < 3; at += 1 / (at < 0.5 || at >= 1 ? rate : burst * rate))
    w.llm_trace.push_back({from_ms(1000 * at), 20, 30});
  return w;
}

/// Two such models on five workers, so that their transfers meet.
inline cluster_spec two_scaling_models(uint32_t copies = 2) {
  auto c = scaling_cluster(copies);
  for (const char* name : {"fourth", "fifth"}) {
    c.nodes.push_back(c.nodes[4]);
    c.nodes.back().name = name;
    c.links[0].nodes.push_back(name);
  }
  c.llms.push_back(c.llms[0]);
  c.llms[1].name = "other";
  for (auto& m : c.llms) m.max_instances = 5;
  c.engines.clear();
  for (uint32_t node = 2; node < 7; ++node)
    for (uint32_t m = 0; m < 2; ++m) c.engines.push_back({llm_id{m}, node_id{node}});
  return c;
}

/// Two such models, of which each of three workers can have one instance.
inline cluster_spec competing_models() {
  auto c = scaling_cluster();
  c.llms.push_back(c.llms[0]);
  c.llms[1].name = "other";
  c.engines.clear();
  for (uint32_t node = 2; node < 5; ++node) {
    c.nodes[node].max_engines = 1;
    for (uint32_t m = 0; m < 2; ++m) c.engines.push_back({llm_id{m}, node_id{node}});
  }
  for (auto& m : c.llms) m.min_instances = 0, m.max_instances = 3;
  return c;
}

/// The same cluster with the scheduler on a node of its own and a standby, the last node.
inline cluster_spec with_standby(cluster_spec c) {
  c.nodes[0].roles = {node_role::scheduler};
  auto& standby = c.nodes.emplace_back();
  standby.name = "standby";
  standby.roles = {node_role::standby};
  c.links[0].nodes.push_back(standby.name);
  c.limits.takeover = 60ms;
  return c;
}

/// Requests for each of these models.
inline workload_spec scaling_workload(const cluster_spec& c, double changes_per_s) {
  auto w = llm_workload(changes_per_s);
  w.llms.resize(c.llms.size(), w.llms[0]);
  for (uint32_t m = 0; m < c.llms.size(); ++m) w.llms[m].model = llm_id{m};
  return w;
}

/// Faults of the leader or its standby while weights move: it is killed, freezes, or is cut off.
inline void add_leader_faults(workload_spec& w, const cluster_spec& c, uint64_t seed) {
  random_stream r(seed, "leader faults");
  constexpr fault_kind kinds[] = {fault_kind::freeze, fault_kind::restart, fault_kind::cut,
                                  fault_kind::stall};
  const auto last = static_cast<uint32_t>(c.nodes.size() - 1);
  for (int i = 0; i < 3; ++i) {
    fault_spec f;
    f.kind = kinds[r.below(4)];
    f.at = duration{static_cast<int64_t>(r.uniform() * static_cast<double>(w.length.count()))};
    f.length = 20ms + duration{static_cast<int64_t>(r.uniform() * 4e8)};
    f.a = f.b = node_id{r.below(4) == 0 ? last : 0};
    const bool one_link = (f.kind == fault_kind::cut || f.kind == fault_kind::stall) && r.below(2) == 0;
    if (one_link) f.b = node_id{f.a.value == 0 ? last : 0};
    w.faults.push_back(f);
  }
  std::ranges::stable_sort(w.faults, {}, &fault_spec::at);
}

/// All workers are killed at once, so that nobody has the weights, and their disks are slow when they return.
inline void add_power_failure(workload_spec& w, const cluster_spec& c, uint64_t seed) {
  random_stream r(seed, "power failure");
  const auto at = 200ms + duration{static_cast<int64_t>(r.uniform() * 1e9)};
  for (uint32_t i = 0; i < c.nodes.size(); ++i) {
    if (!c.nodes[i].has(node_role::worker)) continue;
    const auto away = 20ms + duration{static_cast<int64_t>(r.uniform() * 1e8)};
    w.faults.push_back({.kind = fault_kind::restart, .at = at, .length = away, .a = {i}, .b = {i}});
    w.faults.push_back(
        {.kind = fault_kind::ssd_slow, .at = at + away + 1ms, .length = 300ms, .a = {i}, .b = {i}});
  }
}

/// Faults that may hit transfers of weights.
inline const std::vector<fault_kind> transfer_faults{
    fault_kind::delay,    fault_kind::stall,        fault_kind::cut,     fault_kind::freeze,
    fault_kind::restart,  fault_kind::slow_link,    fault_kind::reorder, fault_kind::clock_drift,
    fault_kind::ssd_slow, fault_kind::chunk_corrupt};

}  // namespace troupe::sim
