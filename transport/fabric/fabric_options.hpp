// Options that the fabrics between processes share.
#pragma once
#include <cstddef>
#include <cstdint>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

struct fabric_options {
  node_id self;
  /// Of this process: not 0, and larger than any earlier one of the node. It does not change when the node
  /// joins again under a later incarnation.
  incarnation_id incarnation;
  /// Random. Messages without it have no effect. Peers learn it from the address.
  uint64_t secret = 0;
  /// Time that the idle progress thread spins before it sleeps, while it has work often
  /// (transport/common/spin_budget.hpp); 0 = sleep at once.
  duration spin = 50us;
  duration linger = 100ms;  ///< time that stop and disconnect wait for unsent frames
  size_t max_frame_bytes = 16u << 20;
  /// Sent but not yet taken by the carrier, per peer. More breaks the connection to it.
  size_t max_unsent_frames = 262144;
  size_t max_unsent_bytes = 64u << 20;
  /// Handed to `send` but not yet seen by the progress thread, all peers together. More breaks all
  /// connections.
  size_t max_queued_bytes = 256u << 20;
};

}  // namespace troupe
