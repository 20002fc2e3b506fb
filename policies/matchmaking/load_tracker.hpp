// Load of a scheduling domain: the needs of its models over its slots.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// A model without an update for `memory`, the window of a queue's rate (rate_meter.hpp), counts as idle. An
/// update costs O(1), and once a second O(models). The sum is kept in integers, exact to a millionth of a
/// slot after any sequence of updates.
class load_tracker {
 public:
  static constexpr duration memory = 5s;

  /// `need`: in slots (batching_policy::need).
  void set(model_id m, double need, time_point now) {
    if (m.value >= needs_.size()) needs_.resize(m.value + 1);
    const auto micro = static_cast<int64_t>(need * 1e6);
    auto& known = needs_[m.value];
    sum_ += micro - known.micro;
    known = {micro, now};
  }
  void remove(model_id m) {
    if (m.value < needs_.size()) set(m, 0, long_ago);
  }

  /// Above 1: the slots cannot serve all arrivals even with the largest batches.
  double load(size_t slots, time_point now) {
    if (now >= forget_at_) forget_silent(now);
    return static_cast<double>(sum_) / (1e6 * static_cast<double>(slots == 0 ? 1 : slots));
  }

 private:
  struct entry {
    int64_t micro = 0;  ///< millionths of a slot
    time_point said = long_ago;
  };

  void forget_silent(time_point now) {
    forget_at_ = now + 1s;
    for (auto& e : needs_)
      if (e.micro != 0 && e.said + memory < now) sum_ -= std::exchange(e.micro, 0);
  }

  std::vector<entry> needs_;  // by model
  int64_t sum_ = 0;
  time_point forget_at_ = long_ago;
};

}  // namespace troupe
