// Pulls of many bytes from memory that peers share with this process: copies on a thread of their own, so
// that frames do not wait for them.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <thread>

#include "transport/fabric/fabric.hpp"
#include "transport/fabric/pull_plan.hpp"

namespace troupe::ucx {

enum class copy_priority {
  usual,
  low  ///< other threads come first (transport/common/low_priority.hpp)
};

/// Used by one thread at a time, the one that drives the fabric.
class range_copies {
 public:
  /// Runs a job on the thread that drives the fabric; called from any thread.
  using post = std::function<void(std::function<void()>)>;

  explicit range_copies(copy_priority p) : priority_(p) {}
  ~range_copies();
  range_copies(const range_copies&) = delete;
  range_copies& operator=(const range_copies&) = delete;

  /// Requires: before the first `add`.
  void set_post(post to_driver) { post_ = std::move(to_driver); }

  /// `from`: the plan's ranges. All memory outlives the copy. `owner` names those that end together. `done`
  /// is called by a posted job, or by `cancel`.
  void add(const void* owner, pull_sources from, pull_plan plan, pull_done done);
  /// Those of an owner end as lost. Their memory is not touched any more.
  void cancel(const void* owner);

 private:
  static constexpr size_t slice = size_t{256} << 10;  ///< bytes between two looks at `cancelled_`

  struct copying {
    uint64_t number;
    pull_sources from;
    pull_plan plan;
  };
  struct waiting {
    const void* owner;
    pull_done done;
  };
  void run();
  bool copy(const copying& c) const;
  void finish(uint64_t number);

  const copy_priority priority_;
  post post_;
  std::map<uint64_t, waiting> waiting_;  ///< whose end has not been told
  uint64_t last_ = 0;
  std::thread thread_;  ///< since the first copy

  std::mutex mutex_;  ///< guards the rest
  std::condition_variable more_, ended_;
  std::deque<copying> queue_;
  uint64_t running_ = 0;  ///< number of the one under way; 0: none
  std::atomic<bool> cancelled_{false};
  bool stopping_ = false;
};

}  // namespace troupe::ucx
