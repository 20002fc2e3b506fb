// Deaths of schedulers at times drawn from a seed.
#pragma once
#include "policies/common/random.hpp"
#include "tests/sim/small_cluster.hpp"

namespace troupe::sim {

inline constexpr node_id first_standby{4}, second_standby{5};

inline duration drawn(uint64_t seed, duration min, duration max) {
  random_stream r(seed, "failover test");
  return min + duration{static_cast<int64_t>(r.uniform() * static_cast<double>((max - min).count()))};
}

/// Schedulers die one after the other while a poison request crashes workers. `c`: standby_cluster(2).
inline workload_spec poison_and_leader_deaths(const cluster_spec& c, uint64_t seed) {
  auto w = small_workload(c);
  for (auto& m : w.models) m.slo = 2s;
  const auto sent = drawn(seed, 100ms, 400ms);
  w.faults.push_back({fault_kind::poison, sent, {}, frontend_node, frontend_node});
  w.faults.push_back({fault_kind::restart, sent + drawn(seed + 500, 60ms, 200ms), 300ms, head, head});
  w.faults.push_back(
      {fault_kind::restart, sent + drawn(seed + 900, 400ms, 700ms), 300ms, first_standby, first_standby});
  return w;
}

}  // namespace troupe::sim
