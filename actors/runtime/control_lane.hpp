// The control lane: membership, slot reports and commands between nodes, over caf::io in reality
// (actors/cluster/control_endpoint.hpp) and over the simulated network in simulation.
#pragma once
#include "actors/runtime/caf_types.hpp"

namespace troupe {

class control_lane {
 public:
  virtual ~control_lane() = default;
  /// Sends to `frame.to.node`; returns at once. What cannot be sent is discarded. No order with the data
  /// lane.
  virtual void send(control_frame frame) = 0;
};

}  // namespace troupe
