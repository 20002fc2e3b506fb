#include "policies/batching/batch_target.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {
namespace {

/// The largest b with slope · b + fixed ≤ budget.
double solve(double slope, double fixed, double budget) {
  if (slope <= 0) return fixed <= budget ? 1e9 : 0;
  return (budget - fixed) / slope;
}

}  // namespace

batch_target staggered_target(const batching_parameters& p, std::optional<double> rows_per_second) {
  const double alpha = to_seconds(p.latency.alpha), beta = to_seconds(p.latency.beta);
  const double data = to_seconds(p.network.data);
  const double budget = to_seconds(p.slo - p.network.control - p.response);
  const double share = 1.0 / (rows_per_second ? std::max(1u, p.slots) : 1u);
  double rows = solve(alpha * (1 + share) + data, beta * (1 + share), budget);
  if (rows_per_second)
    rows =
        *rows_per_second > 0 ? std::min(rows, solve(alpha + data + 1 / *rows_per_second, beta, budget)) : 0;
  // Rounding must not lose a batch that fits exactly.
  rows = std::floor(std::clamp(rows + 1e-9, 1.0, static_cast<double>(std::max(1u, p.max_rows))));
  return {rows, rows_per_second.value_or(0) * (alpha + beta / rows)};
}

double rows_that_keep_up(const latency_model& latency, const batch_target& target, double load) {
  const double alpha = to_seconds(latency.alpha), beta = to_seconds(latency.beta);
  if (load <= 0) return 1;
  const double spare = (alpha + beta / target.rows) / load - alpha;
  return spare * target.rows <= beta ? target.rows : std::max(1.0, beta / spare);
}

}  // namespace troupe
