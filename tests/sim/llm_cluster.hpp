// A cluster that serves only one language model, and requests for it.
#pragma once
#include "tests/sim/small_cluster.hpp"

namespace troupe::sim {

/// A head, a second gateway, three workers with two engines each; memory for about three sequences.
inline cluster_spec llm_cluster(std::string_view routing = "punica") {
  auto c = small_cluster();
  c.models.clear();
  c.slots.clear();
  c.nodes.resize(5);
  c.nodes[4].name = "third";
  c.nodes[4].roles = {node_role::worker};
  llm_spec m;
  m.name = "llm";
  m.device = device_kind::emulated;
  m.profile.step = {.fixed = 2ms, .prefill_token = 20us, .decode = 50us, .decode_context = 100ns};
  m.profile.kv_token_bytes = 1;
  m.profile.adapter_load = 5ms;
  m.jitter = 0.2;
  m.max_positions = 200;
  m.block_tokens = 4;
  m.kv_bytes = 240;
  m.max_sequences = 4;
  m.max_waiting = 64;
  m.prefill_chunk = 16;
  m.adapter_slots = 2;
  m.emulated_adapters = 5;
  m.timeout = 4s;
  m.routing = routing;
  m.consolidate_every = 100ms;
  c.llms = {m};
  for (uint32_t node = 2; node < 5; ++node)
    for (int i = 0; i < 2; ++i) c.engines.push_back({llm_id{0}, node_id{node}});
  return c;
}

inline workload_spec llm_workload(double changes_per_s) {
  workload_spec w;
  w.length = 2s;
  w.clocks = {3h, 50};
  llm_load t;
  t.rate_rps = 60;
  t.arrivals = arrival_kind::gamma;
  t.gamma_cv = 3;
  t.min_prompt = 2;
  t.max_prompt = 50;
  t.min_tokens = 1;
  t.max_tokens = 60;
  t.adapters = 5;
  t.several_choices = 0.1;
  t.alike = 0.5;
  t.hang_up = 0.05;
  t.content = 0.1;
  w.llms = {t};
  w.llm_changes_per_s = changes_per_s;
  return w;
}

/// No invariant is violated, and every request has one outcome.
inline void check_sequences(const world_result& r, uint64_t seed) {
  const auto why = told(r, seed);
  CHECK_MESSAGE(r.violations.empty(), why);
  for (const auto& load : r.llms) {
    uint64_t outcomes = 0;
    for (const auto n : load.outcomes) outcomes += n;
    CHECK(outcomes == load.offered);
  }
}

}  // namespace troupe::sim
