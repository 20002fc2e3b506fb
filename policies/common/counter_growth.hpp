// Growth of a counter, reported at intervals.
#pragma once
#include <cstdint>
#include <utility>

#include "messages/common/time.hpp"

namespace troupe {

/// At most one report per `interval`.
class counter_growth {
 public:
  explicit counter_growth(duration interval) : interval_(interval) {}

  /// Growth of the counter since the last report, to be reported now; 0: nothing is to be reported.
  uint64_t take(uint64_t total, time_point now) {
    if (total == reported_ || now < reported_at_ + interval_) return 0;
    reported_at_ = now;
    return total - std::exchange(reported_, total);
  }

 private:
  duration interval_;
  uint64_t reported_ = 0;
  time_point reported_at_ = long_ago;
};

}  // namespace troupe
