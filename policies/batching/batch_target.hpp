// How large the batches of a model can be while every request meets its SLO, and how large they must be for
// the slots to keep up (Symphony §3.3; docs/scheduling.md has the derivation).
#pragma once
#include <optional>

#include "policies/batching/batching.hpp"

namespace troupe {

struct batch_target {
  double rows = 1;  ///< of a batch of the staggered schedule, 1 or more
  double need = 0;  ///< slots that the rate keeps busy with such batches; 0: the rate is unknown
};

/// The staggered schedule: batches start one `gap` apart, so that a request waits at most a gap and then a
/// batch,
///     gap + ℓ(b) + delay(b) + response ≤ SLO,
/// with b a whole number, 1 ≤ b ≤ max_rows. A gap lasts until b rows have arrived, b / rate, but no less than
/// ℓ(b) / slots, as the slots start no more. Without a rate: as if the model had one slot for itself.
batch_target staggered_target(const batching_parameters& p, std::optional<double> rows_per_second);

/// The smallest batches, in rows, with which this model does its part for the slots to keep up with all
/// arrivals. `load` is the sum of all models' needs over the number of slots. If every model gets slots in
/// proportion to its need, need / load, then b rows every ℓ(b) on each of them are as many as arrive when
///     rate · ℓ(b) / b = need / load   ⇔   b = β / ((α + β / target.rows) / load − α).
/// No more than the target, which is all that the SLO allows, and no less than 1.
double rows_that_keep_up(const latency_model& latency, const batch_target& target, double load);

}  // namespace troupe
