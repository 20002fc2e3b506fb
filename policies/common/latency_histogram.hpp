// Histogram of latencies, in nanoseconds.
#pragma once
#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe {

/// A log-linear histogram from 1 ns to half an hour. Every power of two has 64 buckets, so a quantile is
/// within 1 % of the true one. Mean, minimum and maximum are exact. Its size is constant, 18 KiB. Longer
/// durations count in the last bucket, negative ones as 0.
class latency_histogram {
 public:
  latency_histogram();

  void add(duration d);
  void merge(const latency_histogram& other);

  uint64_t count() const { return count_; }
  /// The latency that a fraction `q` (0–1) of all did not exceed. 0 if empty, as the following.
  duration quantile(double q) const;
  /// Counts by latency, ascending, each latency within 1 %.
  std::vector<std::pair<duration, uint64_t>> counts() const;
  duration mean() const { return count_ == 0 ? duration{} : duration{sum_ / static_cast<int64_t>(count_)}; }
  duration min() const { return count_ == 0 ? duration{} : min_; }
  duration max() const { return max_; }

 private:
  std::vector<uint64_t> buckets_;
  uint64_t count_ = 0;
  int64_t sum_ = 0;  // ns: enough for 292 years of latency
  duration min_ = duration::max();
  duration max_{};
};

}  // namespace troupe
