#include "policies/common/distributions.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <utility>

namespace troupe {

double exponential(random_stream& random, double mean) { return -mean * std::log1p(-random.uniform()); }

double standard_normal(random_stream& random) {
  const double radius = std::sqrt(exponential(random, 2));
  return radius * std::cos(2 * std::numbers::pi * random.uniform());
}

double gamma_variate(random_stream& random, double shape, double scale) {
  if (shape < 1) {
    const double larger = gamma_variate(random, shape + 1, scale);
    return larger * std::pow(1 - random.uniform(), 1 / shape);
  }
  const double d = shape - 1.0 / 3, c = 1 / std::sqrt(9 * d);
  while (true) {
    const double x = standard_normal(random);
    const double root = 1 + c * x;
    if (root <= 0) continue;
    const double v = root * root * root;
    if (std::log(1 - random.uniform()) < x * x / 2 + d - d * v + d * std::log(v)) return d * v * scale;
  }
}

namespace {

std::vector<double> scaled_to_one(std::vector<double> shares) {
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  for (double& s : shares) s /= sum;
  return shares;
}

}  // namespace

std::vector<double> zipf_shares(uint32_t count, double exponent) {
  std::vector<double> shares(count);
  for (uint32_t i = 0; i < count; ++i) shares[i] = std::pow(i + 1.0, -exponent);
  return scaled_to_one(std::move(shares));
}

std::vector<double> geometric_shares(uint32_t count, double ratio) {
  std::vector<double> shares(count);
  for (uint32_t i = 0; i < count; ++i) shares[i] = std::pow(ratio, -static_cast<double>(i));
  return scaled_to_one(std::move(shares));
}

weighted_choice::weighted_choice(const std::vector<double>& weights) : sums_(weights.size()) {
  std::partial_sum(weights.begin(), weights.end(), sums_.begin());
}

uint32_t weighted_choice::operator()(random_stream& random) const {
  const double at = random.uniform() * sums_.back();
  const auto it = std::upper_bound(sums_.begin(), sums_.end() - 1, at);
  return static_cast<uint32_t>(it - sums_.begin());
}

}  // namespace troupe
