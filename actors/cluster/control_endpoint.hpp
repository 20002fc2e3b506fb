// control_endpoint is the control lane of a real node, over caf::io. It listens at the node's control port,
// and only it holds CAF handles of other processes. Tools connect to it too and send commands.
//
// Of two nodes, the later one in the cluster file dials the earlier one. Each learns the other's endpoint
// from its first frame.
#pragma once
#include <caf/actor.hpp>
#include <caf/actor_system.hpp>
#include <cstdint>
#include <string>

#include "actors/cluster/control_middleman.hpp"
#include "actors/runtime/control_lane.hpp"
#include "actors/runtime/supervision.hpp"
#include "messages/cluster/cluster.hpp"

namespace troupe {

class control_endpoint final : public control_lane {
 public:
  /// Listens at the node's control port. Throws std::runtime_error if the port cannot be used. `tls`: as of
  /// control_middleman. `cluster` and `time` outlive the endpoint. `broken` is called if it throws later.
  control_endpoint(caf::actor_system& system, std::shared_ptr<const tls_context> tls, const clock& time,
                   const cluster_spec& cluster, node_id self, on_broken broken);
  ~control_endpoint() override;

  /// Sets the receivers of frames and commands. Before that, frames are dropped and commands are refused.
  void open(node_protocol node, caf::actor console);

  /// Ends the endpoint: frames neither arrive nor leave any more. The object may be destroyed once no actor
  /// can call `send`.
  void close();

  void send(control_frame frame) override;

 private:
  caf::actor_system& system_;
  control_middleman middleman_;
  caf::actor actor_;
  uint16_t port_ = 0;
};

}  // namespace troupe
