#include "policies/batch_target.hpp"

#include <algorithm>

namespace troupe {
namespace {

/// The largest b with slope · b + fixed ≤ budget.
double solve(double slope, double fixed, double budget) {
  if (slope <= 0) return fixed <= budget ? 1e9 : 0;
  return (budget - fixed) / slope;
}

}  // namespace

uint32_t staggered_target(const batching_parameters& p, std::optional<double> rows_per_second) {
  const double alpha = to_seconds(p.latency.alpha), beta = to_seconds(p.latency.beta);
  const double data = to_seconds(p.network.data);
  const double budget = to_seconds(p.slo - p.network.control - p.response);
  const double share = 1.0 / (rows_per_second ? std::max(1u, p.slots) : 1u);
  double rows = solve(alpha * (1 + share) + data, beta * (1 + share), budget);
  if (rows_per_second)
    rows =
        *rows_per_second > 0 ? std::min(rows, solve(alpha + data + 1 / *rows_per_second, beta, budget)) : 0;
  // Rounding must not lose a batch that fits exactly.
  return static_cast<uint32_t>(std::clamp(rows + 1e-9, 1.0, static_cast<double>(std::max(1u, p.max_rows))));
}

}  // namespace troupe
