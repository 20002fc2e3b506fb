// Round trips of heartbeats, counted by their time. One thread adds, any thread reads.
#pragma once
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "messages/common/time.hpp"

namespace troupe {

class round_trips {
 public:
  /// Upper bounds of the buckets, ascending; longer round trips have one more bucket.
  static constexpr std::array bounds = {
      duration{20us},  duration{30us},  duration{50us},  duration{70us},  duration{100us}, duration{150us},
      duration{200us}, duration{300us}, duration{500us}, duration{700us}, duration{1ms},   duration{1500us},
      duration{2ms},   duration{3ms},   duration{5ms},   duration{7ms},   duration{10ms},  duration{15ms},
      duration{20ms},  duration{30ms},  duration{50ms},  duration{100ms}, duration{250ms}, duration{1s}};

  void add(duration time) {
    const auto at = std::lower_bound(bounds.begin(), bounds.end(), time) - bounds.begin();
    counts_[static_cast<size_t>(at)].fetch_add(1, std::memory_order_relaxed);
    sum_.fetch_add(time.count(), std::memory_order_relaxed);
  }

  /// Count of each bucket, not cumulative; one more than `bounds`.
  std::vector<uint64_t> counts() const { return {counts_.begin(), counts_.end()}; }
  duration sum() const { return duration{sum_.load(std::memory_order_relaxed)}; }

 private:
  std::array<std::atomic<uint64_t>, bounds.size() + 1> counts_{};
  std::atomic<int64_t> sum_{0};
};

}  // namespace troupe
