// Symphony's deferred batching (§3.1, Algorithm 1, Fig. 18).
#pragma once
#include "policies/batching/deadline_batching.hpp"

namespace troupe {

/// A batch waits as long as it can still grow: it starts at its frontrun moment, d - ℓ(b + 1), at which one
/// more row would make it late, or at once if it has `max_rows` rows. Window shedding moves the start
/// forward: by `search_time` where other models compete for the slots, to `arrivals_over` when no more
/// requests are expected, and to now at `rows_worth_waiting_for` rows.
class deferred final : public deadline_batching {
 public:
  using deadline_batching::deadline_batching;

 private:
  time_point exec_at(const gathered& batch) const override;
};

}  // namespace troupe
