// The last `capacity` batches of an execution slot, for the operator's commands.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "messages/tensor/past_batches.hpp"

namespace troupe {

class batch_history {
 public:
  static constexpr size_t capacity = 512;

  struct entry {
    model_id model;
    uint32_t requests = 0;
    uint32_t rows = 0;  ///< of the requests that had their inputs
    time_point started_at = never, finished_at = never;
    bool stopped = false;  ///< another batch preempted it
  };

  /// Adds a batch that has ended; it gets the slot's next number.
  void add(const entry& e) {
    entries_.push_back(e);
    ++last_;
    if (entries_.size() > capacity) entries_.pop_front();
  }

  /// The newest `limit` batches with numbers above `after`, oldest first.
  past_batches list(const list_batches& asked, time_point now) const {
    const uint64_t before = last_ - entries_.size();  // number of the last batch that has left the ring
    const uint64_t later = last_ - std::clamp(asked.after, before, last_);
    past_batches out;
    for (auto left = std::min<uint64_t>(asked.limit, later); left > 0; --left) {
      const auto& e = entries_[entries_.size() - left];
      out.batches.push_back({last_ - left + 1, e.model, e.requests, e.rows, now - e.finished_at,
                             e.finished_at - e.started_at, e.stopped});
    }
    return out;
  }

 private:
  std::deque<entry> entries_;  // oldest first, without gaps
  uint64_t last_ = 0;          // number of the newest entry
};

}  // namespace troupe
