// The control lane carries membership, slot reports and commands between nodes: over caf::io on real nodes
// (actors/cluster/control_endpoint.hpp), over the simulated network in simulation.
#pragma once
#include "actors/runtime/caf_types.hpp"

namespace troupe {

class control_lane {
 public:
  virtual ~control_lane() = default;
  /// Sends to `frame.to.node`; returns at once. Frames that cannot be sent are discarded. There is no order
  /// with messages of the data lane.
  virtual void send(control_frame frame) = 0;
};

}  // namespace troupe
