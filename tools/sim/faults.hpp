// Faults: those listed in the workload, those chosen by the seed, and the requests they hit.
#pragma once
#include <array>
#include <initializer_list>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/workload/workload.hpp"
#include "tools/sim/client_statistics.hpp"

namespace troupe::sim {

/// The workload's faults and the seed's, by time.
std::vector<fault_spec> all_faults(const workload_spec& workload, const cluster_spec& cluster, uint64_t seed);

/// Whether the seed adds faults.
bool has_random_faults(const workload_spec& workload);

/// Whether the workload lists only faults of these kinds, and the seed adds none.
bool faults_are_only(const workload_spec& workload, std::initializer_list<fault_kind> kinds);

/// Whether the fault affects a node, not links.
bool is_of_node(fault_kind k);

/// Number of faults begun, by kind.
using fault_counts = std::array<uint64_t, fault_kind_count>;

/// Tracks the active faults and counts the in-flight requests that they hit: those whose gateway, scheduler,
/// worker, or a link between these, was affected between arrival and outcome.
class fault_log {
 public:
  explicit fault_log(node_id scheduler) : scheduler_(scheduler) {}

  /// Times are true ones.
  void begin(const fault_spec& f, duration from, duration until);
  void request_ended(const client_request_record& r, duration now);

  const fault_counts& injected() const { return injected_; }
  const fault_counts& hits() const { return hits_; }

 private:
  struct interval {
    fault_spec fault;
    duration from, until;
  };
  bool hits(const fault_spec& f, const client_request_record& r) const;

  const node_id scheduler_;
  std::vector<interval> recent_;
  fault_counts injected_{}, hits_{};
};

}  // namespace troupe::sim
