// Estimates the rate of transfers to a node: of the flow from a peer, by its pulls, or of the disk.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "messages/common/time.hpp"

namespace troupe {

/// Pulls make up samples of `sample_bytes` at least. The time of a sample is that in which any of its pulls
/// was under way, so waiting for a source that has nothing to give does not count. The rate is the median of
/// the latest samples. A best one would be too high, as the first sample after a delayed notice may be
/// credited with bytes that came before; an exponential average keeps a trace of every process that was
/// suspended.
class measured_rate {
 public:
  static constexpr uint64_t sample_bytes = 32 << 20;  ///< eight usual chunks, two usual windows of pulls
  static constexpr size_t max_samples = 9;
  static constexpr int64_t max_together = 32;  ///< pulls at a time that may take turns on the link

  /// Another transfer begins. Bytes of the former one that are too few for a sample are forgotten.
  void begin() { bytes_ = 0, busy_ = {}; }

  /// Bytes that were under way from `posted` to `completed`, in the order in which they completed. `alone`:
  /// nothing else of the flow is under way. True: there is another sample. Pulls that share the link end
  /// nearly together, so a sample ends before an end that comes noticeably later, or when none is under way.
  bool add(uint64_t bytes, time_point posted, time_point completed, bool alone) {
    const bool later = completed_ != long_ago && completed - completed_ > (completed - posted) / max_together;
    const bool full = later && take_sample();
    if (const auto from = std::max(posted, completed_); completed > from) busy_ += completed - from;
    completed_ = std::max(completed_, completed);
    bytes_ += bytes;
    return (alone && take_sample()) || full;
  }

  /// 0: there is no sample yet. Of two in the middle the faster one: disturbances slow a flow.
  double gbit_per_s() const {
    auto sorted = samples_;
    const auto end = sorted.begin() + static_cast<std::ptrdiff_t>(std::min(taken_, max_samples));
    std::sort(sorted.begin(), end);
    return taken_ == 0 ? 0 : sorted[std::min(taken_, max_samples) / 2];
  }

 private:
  /// False: it is too small.
  bool take_sample() {
    if (bytes_ < sample_bytes || busy_ <= duration{}) return false;
    samples_[taken_++ % max_samples] = static_cast<double>(bytes_) * 8 / static_cast<double>(busy_.count());
    begin();
    return true;
  }

  uint64_t bytes_ = 0;  ///< of the sample that has begun
  duration busy_{};     ///< likewise
  time_point completed_ = long_ago;
  std::array<double, max_samples> samples_{};  ///< Gbit/s
  size_t taken_ = 0;
};

}  // namespace troupe
