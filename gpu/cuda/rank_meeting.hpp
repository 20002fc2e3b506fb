// Where the threads of ranks that share a model wait for each other.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "gpu/device_lost.hpp"

namespace troupe::cuda {

/// Thread-safe.
class rank_meeting {
 public:
  explicit rank_meeting(uint32_t ranks) : ranks_(ranks) {}

  /// Returns when all ranks have come, each time. Throws device_lost if they have parted before.
  void meet() {
    std::unique_lock lock(mutex_);
    const uint64_t meeting = meetings_;
    if (!parted_ && ++here_ == ranks_) here_ = 0, ++meetings_, changed_.notify_all();
    changed_.wait(lock, [&] { return meetings_ != meeting || parted_; });
    if (meetings_ == meeting) throw device_lost("one of the GPUs that compute together has failed");
  }
  /// For good: who waits goes on, and nobody waits any more.
  void part() {
    const std::scoped_lock lock(mutex_);
    parted_ = true;
    changed_.notify_all();
  }
  /// How often they have met.
  uint64_t meetings() {
    const std::scoped_lock lock(mutex_);
    return meetings_;
  }

 private:
  const uint32_t ranks_;
  std::condition_variable changed_;
  std::mutex mutex_;  // guards the rest
  uint32_t here_ = 0;
  uint64_t meetings_ = 0;
  bool parted_ = false;
};

}  // namespace troupe::cuda
