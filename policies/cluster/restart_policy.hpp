// Restart policy for processes that died.
#pragma once
#include <cstdint>
#include <deque>

#include "messages/common/time.hpp"

namespace troupe {

/// Restarts after `first`, then twice as long after each further death within `within`, at most `longest`.
/// After `max_restarts` restarts within `within` it gives up (Erlang's restart intensity, with the back-off
/// of systemd and Kubernetes).
class restart_policy {
 public:
  struct options {
    duration first = 200ms;
    duration longest = 10s;
    uint32_t max_restarts = 5;
    duration within = 60s;
  };

  explicit restart_policy(const options& o) : options_(o) {}

  /// The process died. Returns when to start it again, or `never`.
  time_point died(time_point now);
  /// Number of restarts that count now.
  size_t recent() const { return restarts_.size(); }

 private:
  options options_;
  std::deque<time_point> restarts_;  ///< within the last `within`, oldest first
};

}  // namespace troupe
