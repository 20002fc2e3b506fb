// The fabric of a real node: TLS, or UCX on the ports and interfaces of the cluster file, over shared memory
// alone if all nodes are on one host, and paced if the file says so; and the source of the node's
// incarnations and secrets.
#pragma once
#include <memory>

#include "actors/cluster/refused_connections.hpp"
#include "actors/kinds/node_environment.hpp"
#include "messages/cluster/cluster.hpp"

namespace troupe {

/// Whether UCX listens at a TCP port: not if all nodes are on one host, unless the user set UCX_TLS. A
/// process that is no part of the cluster could write to any address of this one through such a port, by
/// UCX's own messages, without a secret. Call it before the fabric is made.
bool has_ucx_port(const cluster_spec& cluster);

class real_fabric {
 public:
  /// Changes environment variables of the process, so no other thread may read them meanwhile. `time` must
  /// outlive the object. Throws std::runtime_error if the fabric cannot be started.
  real_fabric(const cluster_spec& cluster, node_id self, const clock& time);

  fabric& carrier() { return *carrier_; }
  fabric_part part() const;

 private:
  std::unique_ptr<fabric> make(const cluster_spec& cluster, node_id self, const clock& time);
  std::unique_ptr<fabric> make_carrier(const cluster_spec& cluster, node_id self, const clock& time);

  const incarnation_id first_;
  refused_connections refused_;
  const std::unique_ptr<fabric> carrier_;
};

}  // namespace troupe
