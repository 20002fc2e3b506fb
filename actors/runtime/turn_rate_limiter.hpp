// turn_rate_limiter bounds how often a CAF host takes turns. Every turn costs a wake-up, so under load a host
// that wakes for each message spends its time on wake-ups. Pure.
#pragma once
#include <algorithm>

#include "messages/common/time.hpp"

namespace troupe {

/// A token bucket: `burst` turns may pass at once, in the long run one per `interval`. Messages that arrive
/// meanwhile share one turn.
class turn_rate_limiter {
 public:
  /// `interval` 0: no bound.
  explicit turn_rate_limiter(duration interval, int burst = 16)
      : interval_(interval), burst_(interval * burst) {}

  /// A turn begins.
  void begin(time_point now) { paid_until_ = std::max(paid_until_, now - burst_) + interval_; }
  /// The earliest time for the next one.
  time_point next() const { return paid_until_; }

 private:
  duration interval_, burst_;
  time_point paid_until_ = long_ago;  ///< each turn adds an interval; at most a burst is saved up
};

}  // namespace troupe
