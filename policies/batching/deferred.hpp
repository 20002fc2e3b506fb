// Symphony's deferred batching (§3.1, Algorithm 1, Fig. 18).
#pragma once
#include "policies/batching/deadline_batching.hpp"

namespace troupe {

/// A batch waits as long as it can still grow: it wants to start at its frontrun moment, d - ℓ(b + 1), when
/// one more row would make it late; at once if it is at `max_rows`. Under window shedding somewhat earlier
/// where other models compete for the slots (`search_time`), when no more requests are to be expected
/// (`arrivals_over`), and at once when more rows would save next to nothing (`rows_worth_waiting_for`).
class deferred final : public deadline_batching {
 public:
  using deadline_batching::deadline_batching;

 private:
  time_point exec_at(const gathered& batch) const override;
};

}  // namespace troupe
