#pragma once
#include "policies/matchmaking/timer_matchmaking.hpp"

namespace patience {

/// Chooses the free slot that became free last, because its caches are still warm; on a tie the lower id.
/// Checks every slot for a match: O(slots).
class warmest final : public troupe::timer_matchmaking {
  uint32_t choose(const slot_times& free_at, troupe::time_point start) const override {
    uint32_t best = slot_times::npos;
    for (uint32_t slot = 0; slot < free_at.bound(); ++slot)
      if (free_at[slot] <= start && (best == slot_times::npos || free_at[slot] > free_at[best])) best = slot;
    return best;
  }
};

}  // namespace patience
