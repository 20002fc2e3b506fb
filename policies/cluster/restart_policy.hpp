// When a process that died is started again.
#pragma once
#include <cstdint>
#include <deque>

#include "messages/common/time.hpp"

namespace troupe {

/// After the first death `first`, and twice as long after each further one within `within`, at most
/// `longest`. After `max_restarts` restarts within `within` it gives up: what dies so often will not be
/// healed by being started once more (Erlang's restart intensity, with the back-off of systemd and
/// Kubernetes).
class restart_policy {
 public:
  struct options {
    duration first = 200ms;
    duration longest = 10s;
    uint32_t max_restarts = 5;
    duration within = 60s;
  };

  explicit restart_policy(const options& o) : options_(o) {}

  /// The process died: when to start it again, or `never`.
  time_point died(time_point now);
  /// How many restarts count at the moment.
  size_t recent() const { return restarts_.size(); }

 private:
  options options_;
  std::deque<time_point> restarts_;  ///< granted within the last `within`, oldest first
};

}  // namespace troupe
