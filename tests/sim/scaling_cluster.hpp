// A cluster whose language model scales over six places on three workers.
#pragma once
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

}  // namespace troupe::sim
