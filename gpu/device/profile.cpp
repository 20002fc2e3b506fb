#include "gpu/device/profile.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace troupe {

namespace {

constexpr duration enough = 500ms;

struct line {
  double alpha = 0, beta = 0;  // nanoseconds
};

/// Weighted least squares with weight 1/latency², α and β bounded by zero.
line fit_line(std::span<const latency_sample> samples) {
  double w = 0, wx = 0, wxx = 0, wy = 0, wxy = 0;
  for (const auto& s : samples) {
    const double x = s.rows, y = static_cast<double>(s.latency.count()), weight = 1 / (y * y);
    w += weight;
    wx += weight * x;
    wxx += weight * x * x;
    wy += weight * y;
    wxy += weight * x * y;
  }
  const double determinant = w * wxx - wx * wx;
  if (determinant > 1e-12 * w * wxx) {
    const line best{(w * wxy - wx * wy) / determinant, (wxx * wy - wx * wxy) / determinant};
    if (best.alpha < 0) return {0, wy / w};
    if (best.beta >= 0) return best;
  }
  return {wxy / wxx, 0};
}

}  // namespace

latency_fit fit_latency(std::span<const latency_sample> samples) {
  assert(!samples.empty());
  const auto [alpha, beta] = fit_line(samples);
  latency_fit fit;
  fit.model = {duration{std::llround(alpha)}, duration{std::llround(beta)}};
  double w = 0, wy = 0;
  for (const auto& s : samples) {
    const auto y = static_cast<double>(s.latency.count());
    w += 1 / (y * y);
    wy += 1 / y;
  }
  double unexplained = 0, total = 0;
  for (const auto& s : samples) {
    const auto y = static_cast<double>(s.latency.count());
    const double error = (alpha * s.rows + beta - y) / y, spread = (y - wy / w) / y;
    unexplained += error * error;
    total += spread * spread;
    fit.max_relative_error = std::max(fit.max_relative_error, std::abs(error));
  }
  fit.r_squared = total > 0 ? 1 - unexplained / total : 1;
  return fit;
}

std::vector<latency_sample> measure_latency(const clock& c, std::span<const uint32_t> batch_sizes,
                                            duration budget, const std::function<void(uint32_t rows)>& run) {
  std::vector<latency_sample> samples;
  for (const uint32_t rows : batch_sizes) {
    run(rows);
    std::vector<duration> times;
    const auto begin = c.now();
    for (auto before = begin; times.empty() || (times.size() < 3 && before - begin < enough) ||
                              (before - begin < budget && times.size() < 1000);
         before = c.now()) {
      run(rows);
      times.push_back(c.now() - before);
    }
    const auto middle = times.begin() + static_cast<ptrdiff_t>(times.size() / 2);
    std::ranges::nth_element(times, middle);
    samples.push_back({rows, std::max(*middle, duration{1})});
  }
  return samples;
}

std::vector<uint32_t> profiled_batch_sizes(uint32_t max_batch) {
  std::vector<uint32_t> sizes;
  for (uint32_t b = 1; b < max_batch && b <= UINT32_MAX / 2; b *= 2) sizes.push_back(b);
  sizes.push_back(std::max<uint32_t>(max_batch, 1));
  return sizes;
}

}  // namespace troupe
