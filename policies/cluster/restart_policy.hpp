// Restart policy for processes that died.
#pragma once
#include <cstdint>

#include "messages/common/time.hpp"

namespace troupe {

/// Restarts after `first`, then twice as long after each further death in a row, at most `max_delay` (the
/// back-off of Kubernetes' CrashLoopBackOff). A process that lived for `steady` ends the row.
class restart_policy {
 public:
  struct options {
    duration first = 200ms;
    duration max_delay = 30s;
    duration steady = 60s;
    uint32_t give_up_after = 0;  ///< deaths in a row; 0: never
  };

  explicit restart_policy(const options& o) : options_(o) {}

  /// A process that was started at `started` died at `now`. Returns when to start it again, or `never`.
  time_point died(time_point started, time_point now);
  uint32_t deaths_in_a_row() const { return deaths_; }

 private:
  options options_;
  uint32_t deaths_ = 0;
};

}  // namespace troupe
