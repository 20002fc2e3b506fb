// Clockwork's batching (Gujarati et al., OSDI 2020, §4.4 and §5.3), a baseline of the Symphony paper.
#pragma once
#include <algorithm>
#include <bit>

#include "policies/batching/deadline_batching.hpp"

namespace troupe {

/// Eager, a few milliseconds ahead: a slot with less than `schedule_ahead` of work left goes to the candidate
/// with the earliest latest start. Batch sizes are those for which Clockwork compiles models, 1, 2, 4, 8, 16,
/// or `any`, as in the Symphony paper's comparisons (§5).
class clockwork final : public deadline_batching {
 public:
  static constexpr duration schedule_ahead = 5ms;
  static constexpr uint32_t largest = 16;

  clockwork(const batching_parameters& p, shedding rule, bool any = false)
      : deadline_batching(p, rule), any_(any) {}
  duration lead() const override { return schedule_ahead; }

 private:
  time_point exec_at(const gathered& batch) const override { return batch.earliest; }
  uint32_t batch_of(uint32_t rows) const override {
    return any_ ? rows : std::bit_floor(std::min(rows, largest));
  }

  const bool any_;
};

}  // namespace troupe
