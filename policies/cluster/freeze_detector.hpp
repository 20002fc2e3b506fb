// Detector of a node that was frozen: suspended, or without a CPU for long.
#pragma once
#include <algorithm>

#include "messages/common/time.hpp"

namespace troupe {

/// A node was frozen if it has not been awake for so long that a peer may have declared its incarnation dead:
/// for longer than `node_timeout`, less the time for which the peer may already have waited for a heartbeat.
class freeze_detector {
 public:
  freeze_detector(duration node_timeout, duration heartbeat)
      : longest_(std::max(node_timeout - 2 * heartbeat, node_timeout / 2)) {}

  /// Regular wake-up of the node.
  void awake(time_point now) { last_awake_ = now; }
  /// True once for each freeze.
  bool was_frozen(time_point now) {
    if (last_awake_ == never || now - last_awake_ <= longest_) return false;
    last_awake_ = now;
    return true;
  }

 private:
  duration longest_;
  time_point last_awake_ = never;
};

}  // namespace troupe
