// Counts of a queue's requests that ran in time and that did not, for the scale planner.
#pragma once
#include <cstdint>
#include <optional>
#include <utility>

#include "messages/common/time.hpp"

namespace troupe {

struct counted_load {
  uint64_t good = 0;  ///< ran in time
  uint64_t bad = 0;   ///< ran late, or were dropped in overload (`is_overload`)
};

/// The counts are reported at most every `interval`, and only if one is not zero. `interval` zero: never.
class load_counter {
 public:
  explicit load_counter(duration interval) : interval_(interval) {}

  void count_good(uint64_t requests = 1) { counts_.good += requests; }
  void count_bad(uint64_t requests = 1) { counts_.bad += requests; }

  /// When the next report is due; `never` if there is nothing to report.
  time_point due_at() const {
    return interval_ == duration{} || counts_.good + counts_.bad == 0 ? never : next_at_;
  }
  /// The counts since the last report, if one is due.
  std::optional<counted_load> take(time_point now) {
    if (due_at() == never || now < next_at_) return {};
    next_at_ = now + interval_;
    return std::exchange(counts_, {});
  }

 private:
  const duration interval_;
  counted_load counts_;
  time_point next_at_ = long_ago;
};

}  // namespace troupe
