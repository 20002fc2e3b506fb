// The fabric of a real node: UCX on the ports and interfaces of the cluster file, or over shared memory alone
// if all nodes are on one host; and the source of the node's incarnations and secrets.
#pragma once
#include <memory>

#include "actors/kinds/node_environment.hpp"
#include "messages/cluster/cluster.hpp"

namespace troupe {

/// Whether the data lane listens at a TCP port: not if all nodes are on one host, unless the user set
/// UCX_TLS. A process that is no part of the cluster could write to any address of this one through such a
/// port, by UCX's own messages, without a secret. Call it before the fabric is made.
bool has_data_port(const cluster_spec& cluster);

class real_fabric {
 public:
  /// Changes environment variables of the process, so no other thread may read them meanwhile. `time` must
  /// outlive the object. Throws std::runtime_error if UCX cannot be started.
  real_fabric(const cluster_spec& cluster, node_id self, const clock& time);

  fabric& carrier() { return *carrier_; }
  fabric_part part() const;

 private:
  const incarnation_id first_;
  const std::unique_ptr<fabric> carrier_;
};

}  // namespace troupe
