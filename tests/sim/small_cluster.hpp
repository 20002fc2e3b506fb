// A small cluster: a head, a second gateway, two workers with two slots each.
#pragma once
#include <doctest/doctest.h>
#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <string>

#include "tools/sim/world.hpp"

namespace troupe::sim {

inline constexpr node_id head{0}, frontend_node{1}, left{2}, right{3};
inline constexpr size_t quick_model = 0, slow_model = 1, rare_model = 2;
using change = change_event::kind;

inline cluster_spec small_cluster() {
  cluster_spec c;
  c.name = "small";
  c.hash = "0123456789abcdef";
  const auto node = [&](const char* name, std::vector<node_role> roles) {
    node_spec n;
    n.name = name;
    n.roles = std::move(roles);
    c.nodes.push_back(n);
  };
  node("head", {node_role::gateway, node_role::scheduler});
  node("frontend", {node_role::gateway});
  node("left", {node_role::worker});
  node("right", {node_role::worker});
  const auto model = [&](const char* name, duration slo, latency_model latency) {
    model_spec m;
    m.name = name;
    m.slo = slo;
    m.origin = profile_origin::given;
    m.latency = latency;
    m.max_batch = 16;
    m.input_bytes = 24;
    m.output_bytes = 16;
    c.models.push_back(m);
  };
  model("quick", 30ms, {500us, 2ms});
  model("slow", 100ms, {2ms, 10ms});
  model("rare", 60ms, {1ms, 5ms});
  for (uint32_t i = 0; i < 4; ++i)
    c.slots.push_back({.node = node_id{2 + i / 2}, .kind = device_kind::emulated});
  c.policy.network = {200us, 10us};
  c.policy.response = 1ms;
  c.limits.pool_bytes = 1 << 20;
  c.limits.request_timeout = 500ms;
  c.limits.heartbeat = 50ms;
  c.limits.node_timeout = 300ms;
  c.limits.drain_timeout = 5s;
  return c;
}

/// The same with the scheduler on a node of its own and `standbys` standbys; `frontend_node` is the only
/// gateway.
inline cluster_spec standby_cluster(size_t standbys = 1) {
  auto c = small_cluster();
  c.nodes[0].roles = {node_role::scheduler};
  for (size_t i = 0; i < standbys; ++i) {
    auto& standby = c.nodes.emplace_back();
    standby.name = "standby" + std::to_string(i + 1);
    standby.roles = {node_role::standby};
  }
  c.limits.takeover = 60ms;
  return c;
}

inline workload_spec small_workload(const cluster_spec& c, duration length = 2s) {
  workload_spec w;
  w.length = length;
  const double rates[] = {200, 80, 20};
  for (uint32_t i = 0; i < c.models.size(); ++i) {
    model_load l;
    l.model = model_id{i};
    l.rate_rps = rates[i % 3];
    l.slo = c.models[i].slo;
    l.latency = c.models[i].latency;
    w.models.push_back(l);
  }
  w.clocks = {3h, 50};
  return w;
}

/// The same under Shepherd, which preempts a running batch for one that is three times as large.
inline cluster_spec preempting_cluster() {
  auto c = small_cluster();
  c.policy.batching = "eager";
  c.policy.shedding = "timeout";
  c.policy.matchmaking = "shepherd";
  c.policy.decision_log = 4096;
  return c;
}

/// Bursty loads, so that small batches run when large ones arrive.
inline workload_spec bursts(const cluster_spec& c, duration length = 1s) {
  auto w = small_workload(c, length);
  for (auto& m : w.models) {
    m.rate_rps *= 5;
    m.arrivals = arrival_kind::gamma;
    m.gamma_cv = 4;
  }
  return w;
}

inline world_result run(const cluster_spec& c, const workload_spec& w, const world_options& o = {}) {
  spdlog::set_level(spdlog::level::off);  // nodes log the faults that a test injects
  return world(c, w, o).run();
}

/// A run of two seconds with faults of any kind.
inline world_result faulty_run(uint64_t seed, const cluster_spec& c, uint32_t faults) {
  auto w = small_workload(c);
  w.random_faults.count = faults;
  for (size_t k = 0; k < fault_kind_count; ++k) w.random_faults.kinds.push_back(static_cast<fault_kind>(k));
  return run(c, w, {.seed = seed, .hang_up = 0.02});
}
inline world_result faulty_run(uint64_t seed) { return faulty_run(seed, small_cluster(), 3); }

inline std::string told(const world_result& r, uint64_t seed) {
  std::string out = fmt::format("seed {}:", seed);
  for (const auto& v : r.violations)
    out += fmt::format("\n  at {:.6f} s: {}: {}", to_seconds(v.at), v.check, v.what);
  return out;
}

/// No invariant is violated, and every request has an outcome.
inline void check(const world_result& r, uint64_t seed) {
  const auto why = told(r, seed);
  CHECK_MESSAGE(r.violations.empty(), why);
  uint64_t outcomes = 0;
  for (const auto n : r.total.outcomes) outcomes += n;
  CHECK(outcomes == r.total.offered);
}

}  // namespace troupe::sim
