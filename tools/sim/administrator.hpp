// The simulated administrator: deploys and undeploys models and drains nodes, as the workload specifies.
#pragma once
#include <caf/actor.hpp>
#include <functional>
#include <vector>

#include "messages/cluster/cluster.hpp"
#include "messages/workload/workload.hpp"
#include "policies/common/random.hpp"
#include "tools/sim/invariants.hpp"
#include "tools/sim/timeline.hpp"
#include "tools/sim/trace.hpp"

namespace caf {
class actor_system;
}

namespace troupe {
class node_runtime;
}

namespace troupe::sim {

class administrator {
 public:
  /// References must outlive the administrator.
  struct environment {
    caf::actor_system& system;
    const cluster_spec& cluster;
    const workload_spec& workload;
    timeline& time;
    random_stream& chance;  ///< selects the node for each command
    /// The actors of a node; null while its process is down.
    std::function<node_runtime*(node_id)> runtime_of;
    deployment_check& deployments;
    trace& tracing;
  };

  explicit administrator(environment s) : env_(std::move(s)) {}

  /// The workload begins. Changes that the cluster does not accept are abandoned at `until`.
  void start(duration until);
  /// Stops waiting for answers; its actors end in their next turn.
  void stop();

 private:
  void work();
  void accepted();
  template <class Command>
  void send(node_id to, Command c);

  const environment env_;
  duration start_{}, until_{};
  size_t next_ = 0;                 ///< index into the workload's changes
  std::vector<caf::actor> asking_;  ///< one per command
};

}  // namespace troupe::sim
