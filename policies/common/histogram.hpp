// Histogram with given buckets, as in Prometheus.
#pragma once
#include <algorithm>
#include <cstdint>
#include <numeric>
#include <vector>

namespace troupe {

class histogram {
 public:
  /// `bounds`: ascending upper bounds of the buckets; larger values go into one more bucket.
  explicit histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}
  /// One that was sent: `counts` as `counts()` gave them, a bucket that is missing being empty.
  histogram(std::vector<double> bounds, std::vector<uint64_t> counts, double sum)
      : bounds_(std::move(bounds)), counts_(std::move(counts)), sum_(sum) {
    counts_.resize(bounds_.size() + 1);
    count_ = std::accumulate(counts_.begin(), counts_.end(), uint64_t{0});
  }

  /// Bounds from a millisecond to forty minutes, and for mostly shorter times.
  static std::vector<double> seconds() {
    return {0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75,
            1,     2.5,    5,     7.5,  10,   20,   40,   80,   160, 640,  2560};
  }
  static std::vector<double> short_seconds() {
    return {0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1,
            0.15,   0.2,     0.3,    0.4,   0.5,    0.75,  1,    2.5,   5,    10};
  }

  void add(double x) {
    const auto at = std::lower_bound(bounds_.begin(), bounds_.end(), x) - bounds_.begin();
    ++counts_[static_cast<size_t>(at)];
    ++count_;
    sum_ += x;
  }

  const std::vector<double>& bounds() const { return bounds_; }
  /// Count of each bucket, not cumulative; one more than `bounds`.
  const std::vector<uint64_t>& counts() const { return counts_; }
  uint64_t count() const { return count_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  uint64_t count_ = 0;
  double sum_ = 0;
};

}  // namespace troupe
