// Rate of events: the mean over a sliding window.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe {

/// Counts in buckets of equal length. The rate covers the last complete buckets, so it changes only when a
/// bucket ends. Time starts with the first call and must not go back.
class rate_meter {
 public:
  explicit rate_meter(duration bucket = 50ms, uint32_t buckets = 100);

  void count(time_point now, uint32_t n);
  /// Per second; none before the first bucket is complete.
  std::optional<double> rate(time_point now);
  /// When the current bucket ends, and with it the current rate.
  time_point valid_until() const { return bucket_ends_; }

 private:
  void advance(time_point now);

  duration bucket_;
  std::vector<uint64_t> complete_;  // a ring
  uint64_t buckets_ended_ = 0;
  uint64_t sum_ = 0;  // of `complete_`
  uint64_t current_ = 0;
  time_point bucket_ends_ = long_ago;
};

}  // namespace troupe
