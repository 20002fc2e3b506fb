// A barrier for the threads of the ranks of a tensor-parallel model, which can be aborted.
#pragma once
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "gpu/common/device_lost.hpp"

namespace troupe::cuda {

/// Thread-safe.
class rank_barrier {
 public:
  explicit rank_barrier(uint32_t ranks) : ranks_(ranks) {}

  /// Returns when all ranks have arrived; reusable. Throws device_lost if it was aborted.
  void arrive_and_wait() {
    std::unique_lock lock(mutex_);
    const uint64_t phase = phases_;
    if (!aborted_ && ++arrived_ == ranks_) arrived_ = 0, ++phases_, changed_.notify_all();
    changed_.wait(lock, [&] { return phases_ != phase || aborted_; });
    if (phases_ == phase) throw device_lost("one of the GPUs that compute together has failed");
  }
  /// Permanent: waiting and later threads get device_lost.
  void abort() {
    const std::scoped_lock lock(mutex_);
    aborted_ = true;
    changed_.notify_all();
  }
  /// Number of complete phases.
  uint64_t phases() {
    const std::scoped_lock lock(mutex_);
    return phases_;
  }

 private:
  const uint32_t ranks_;
  std::condition_variable changed_;
  std::mutex mutex_;  // guards the rest
  uint32_t arrived_ = 0;
  uint64_t phases_ = 0;
  bool aborted_ = false;
};

}  // namespace troupe::cuda
