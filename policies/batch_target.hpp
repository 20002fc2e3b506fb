// How large the batches of a model can be while every request meets its SLO (Symphony §3.3).
#pragma once
#include <cstdint>
#include <optional>

#include "policies/batching.hpp"

namespace troupe {

/// The largest number of rows b, 1 ≤ b ≤ max_rows, of the staggered schedule: batches start one `gap` apart,
/// so that a request waits at most a gap and then a batch,
///     gap + ℓ(b) + delay(b) + response ≤ SLO.
/// A gap lasts until b rows have arrived, b / rate, but no less than ℓ(b) / slots, as the slots start no
/// more. Without a rate: as if the model had one slot for itself.
uint32_t staggered_target(const batching_parameters& p, std::optional<double> rows_per_second);

}  // namespace troupe
