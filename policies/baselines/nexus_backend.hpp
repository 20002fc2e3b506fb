// Batching of one Nexus backend (Shen et al., SOSP 2019, §6.3), a baseline of the Symphony paper.
#pragma once
#include "policies/batching/deadline_batching.hpp"

namespace troupe {

/// Eager, with batches of at most the planned size: the largest b with 2 ℓ(b) ≤ SLO (two batches one after
/// the other), or the size planned for the backend if that is less. Window shedding drops every request that
/// would be late in a batch of that size ("early drop").
class nexus_backend final : public deadline_batching {
 public:
  nexus_backend(const batching_parameters& p, shedding rule, uint32_t max_batch)
      : deadline_batching(p, rule), max_batch_(max_batch) {}

  void set_max_batch(uint32_t rows) { max_batch_ = rows; }
  static uint32_t planned_batch(const batching_parameters& p);

 private:
  time_point exec_at(const gathered& batch) const override { return batch.earliest; }
  double rows_to_protect() const override { return planned(); }
  uint32_t batch_of(uint32_t rows) const override { return std::min(rows, planned()); }
  uint32_t planned() const { return std::min(max_batch_, planned_batch(parameters())); }

  uint32_t max_batch_;
};

}  // namespace troupe
