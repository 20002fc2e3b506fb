// A Nexus backend's batching (Shen et al., SOSP 2019, §6.3), a baseline of the Symphony paper.
#pragma once
#include "policies/deadline_batching.hpp"

namespace troupe {

/// Eager, in batches of the planned size at most: `max_rows`, or what two batches one after the other allow,
/// 2 ℓ(b) ≤ SLO, if that is less. Window shedding gives up every request that would be late in a batch of
/// that size ("early drop").
class nexus final : public deadline_batching {
 public:
  nexus(const batching_parameters& p, shedding rule)
      : deadline_batching(p, rule), planned_(planned_batch(p)) {}

  static uint32_t planned_batch(const batching_parameters& p);

 private:
  time_point exec_at(const gathered& batch) const override { return batch.earliest; }
  double rows_to_protect() const override { return planned_; }
  uint32_t batch_of(uint32_t rows) const override { return std::min(rows, planned_); }

  const uint32_t planned_;
};

}  // namespace troupe
