// Detector of a node that was frozen: suspended, or without a CPU for long.
#pragma once
#include "messages/common/time.hpp"

namespace troupe {

/// A node was frozen if it has not been awake for longer than `node_timeout`: its peers have declared its
/// incarnation dead meanwhile.
class freeze_detector {
 public:
  explicit freeze_detector(duration node_timeout) : node_timeout_(node_timeout) {}

  /// Regular wake-up of the node.
  void awake(time_point now) { last_awake_ = now; }
  /// True once for each freeze.
  bool was_frozen(time_point now) {
    if (last_awake_ == never || now - last_awake_ <= node_timeout_) return false;
    last_awake_ = now;
    return true;
  }

 private:
  duration node_timeout_;
  time_point last_awake_ = never;
};

}  // namespace troupe
