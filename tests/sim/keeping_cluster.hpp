// A cluster whose four workers keep the files of their tensor models in memory.
#pragma once
#include "tests/sim/small_cluster.hpp"

namespace troupe::sim {

/// Links are slow enough that faults hit transfers.
inline cluster_spec keeping_cluster() {
  auto c = small_cluster();
  for (const char* name : {"third", "fourth"}) {
    c.nodes.push_back(c.nodes[left.value]);
    c.nodes.back().name = name;
    c.slots.push_back(
        {.node = node_id{static_cast<uint32_t>(c.nodes.size() - 1)}, .kind = device_kind::emulated});
  }
  link_spec slow{{}, 0.1};
  for (auto& n : c.nodes) {
    slow.nodes.push_back(n.name);
    if (n.has(node_role::worker)) n.parameter_bytes = 4 << 20;
  }
  c.links = {slow};
  c.scaling.chunk_bytes = 16 << 10;
  c.scaling.window = 3;
  for (auto& m : c.models) m.path = "/models/" + m.name + ".onnx";
  return c;
}

}  // namespace troupe::sim
