// control_endpoint: a process's end of the real control lane, over caf::io. Published at the node's control
// port; holds the only CAF handles of other processes that there are. Tools connect here too, with commands.
//
// Of two nodes the later one in the file dials the earlier one; each learns the other's endpoint from its
// first frame.
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
  /// Listens at the node's control port. Throws std::runtime_error with one clear message if the port
  /// cannot be used. `tls`: see control_middleman. `cluster` and `time` outlive the endpoint.
  /// `broken`: it threw.
  control_endpoint(caf::actor_system& system, std::shared_ptr<const tls_context> tls, const clock& time,
                   const cluster_spec& cluster, node_id self, on_broken broken);
  ~control_endpoint() override;

  /// Frames and commands that arrive before this are lost.
  void open(node_protocol node, caf::actor console);

  /// Ends it: nothing comes in or goes out any more. The object may be destroyed once no actor can call
  /// `send`.
  void close();

  void send(control_frame frame) override;

 private:
  caf::actor_system& system_;
  control_middleman middleman_;
  caf::actor actor_;
  uint16_t port_ = 0;
};

}  // namespace troupe
