// Latency profiles: measured latency by batch size, and the line ℓ(b) = α·b + β fitted to it.
#pragma once
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "messages/common/time.hpp"
#include "messages/tensor/latency.hpp"

namespace troupe {

struct latency_sample {
  uint32_t rows = 1;
  duration latency{};
};

struct latency_fit {
  latency_model model;
  double max_relative_error = 0;  ///< over the samples: |fit - measured| / measured
  double r_squared = 0;  ///< share of the (weighted) variance that the line explains; 1 without variance
};

/// The line with the least sum of squared *relative* errors, so that small batches count as much as large
/// ones. α and β are not negative: if the best line has a negative one, the result is the best line with that
/// one zero. One sample gives β = 0. Requires at least one sample, all with rows and latency above zero.
latency_fit fit_latency(std::span<const latency_sample> samples);

/// Median time of `run(rows)` for every batch size, by `c`. After one warm-up, each runs until `budget` has
/// passed for it, and at least 3 times, or once if half a second has passed.
std::vector<latency_sample> measure_latency(const clock& c, std::span<const uint32_t> batch_sizes,
                                            duration budget, const std::function<void(uint32_t rows)>& run);

/// 1, 2, 4, ... and `max_batch`.
std::vector<uint32_t> profiled_batch_sizes(uint32_t max_batch);

}  // namespace troupe
