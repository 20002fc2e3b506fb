// How much the models of a scheduling domain need of its slots, all together.
#pragma once
#include <cstdint>
#include <vector>

#include "messages/ids.hpp"

namespace troupe {

/// O(1) an update. The sum of what came and went in any order is exact to a millionth of a slot.
class load_book {
 public:
  /// `need`: slots (batching_policy::need).
  void set(model_id m, double need) {
    if (m.value >= needs_.size()) needs_.resize(m.value + 1);
    const auto micro = static_cast<int64_t>(need * 1e6);
    sum_ += micro - needs_[m.value];
    needs_[m.value] = micro;
  }
  void remove(model_id m) {
    if (m.value < needs_.size()) set(m, 0);
  }

  /// Over 1: the slots cannot serve all even with the largest batches.
  double load(size_t slots) const {
    return static_cast<double>(sum_) / (1e6 * static_cast<double>(slots == 0 ? 1 : slots));
  }

 private:
  std::vector<int64_t> needs_;  // in millionths of a slot, by model
  int64_t sum_ = 0;
};

}  // namespace troupe
