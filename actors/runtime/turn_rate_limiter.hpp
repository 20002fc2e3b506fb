// How often a CAF host takes turns. A turn costs a wake-up, whatever it does: a CAF host that is woken for
// every single message when there are many spends its time on waking up. Pure.
#pragma once
#include <algorithm>

#include "messages/common/time.hpp"

namespace troupe {

/// Lets bursts of turns pass at once and, when there are more in the long run, one in `interval`: what
/// arrives meanwhile is done in one turn. (A token bucket.)
class turn_rate_limiter {
 public:
  /// `interval` 0: as often as there is something to do.
  explicit turn_rate_limiter(duration interval, int burst = 16)
      : interval_(interval), burst_(interval * burst) {}

  /// A turn begins.
  void begin(time_point now) { paid_until_ = std::max(paid_until_, now - burst_) + interval_; }
  /// The earliest time for the next one.
  time_point next() const { return paid_until_; }

 private:
  duration interval_, burst_;
  time_point paid_until_ = long_ago;  ///< each turn pays for an interval, a burst of them in advance
};

}  // namespace troupe
