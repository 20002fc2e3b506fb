// Batch sizes of a model: the largest with which every request meets its SLO, and the smallest with which the
// slots keep up with the arrivals (Symphony §3.3; derivation in docs/scheduling.md).
#pragma once
#include <optional>

#include "policies/batching/batching.hpp"

namespace troupe {

struct batch_target {
  double rows = 1;  ///< of a batch of the staggered schedule, 1 or more
  double need = 0;  ///< slots that the rate keeps busy with such batches; 0: the rate is unknown
};

/// Target of the staggered schedule. Batches start one `gap` apart, so that a request waits at most a gap and
/// then a batch,
///     gap + ℓ(b) + delay(b) + response ≤ SLO,
/// with b a whole number, 1 ≤ b ≤ max_rows. The gap is the time in which b rows arrive, b / rate, but at
/// least ℓ(b) / slots, the interval at which slots become free. Without a rate, the model is taken to have
/// one slot for itself.
batch_target staggered_target(const batching_parameters& p, std::optional<double> rows_per_second);

/// Smallest batch, in rows, with which the slots keep up with all arrivals. `load` is the sum of all models'
/// needs over the number of slots. Each model is taken to get slots in proportion to its need, that is need /
/// load. A batch of b rows every ℓ(b) on each of them serves all arrivals when
///     rate · ℓ(b) / b = need / load   ⇔   b = β / ((α + β / target.rows) / load − α).
/// The result is at most the target, which is the most that the SLO allows, and at least 1.
double rows_that_keep_up(const latency_model& latency, const batch_target& target, double load);

}  // namespace troupe
