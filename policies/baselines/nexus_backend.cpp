#include "policies/baselines/nexus_backend.hpp"

#include <algorithm>

namespace troupe {

uint32_t nexus_backend::planned_batch(const batching_parameters& p) {
  const auto budget = (p.slo - p.response) / 2 - p.latency.beta;
  if (budget < p.latency.alpha) return 1;
  if (p.latency.alpha == duration{}) return p.max_rows;
  return static_cast<uint32_t>(std::min<int64_t>(budget / p.latency.alpha, p.max_rows));
}

}  // namespace troupe
