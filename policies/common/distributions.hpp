// Random variates, implemented here so that a seed gives the same trace with every standard library.
#pragma once
#include <cstdint>
#include <vector>

#include "policies/common/random.hpp"

namespace troupe {

double exponential(random_stream& random, double mean);
double standard_normal(random_stream& random);
/// Marsaglia and Tsang, "A simple method for generating gamma variables". Shape and scale > 0.
double gamma_variate(random_stream& random, double shape, double scale);

/// Shares of `count` items, the i-th (i + 1)^-exponent times as popular as the first; they add up to 1.
/// Exponent 0: all equal.
std::vector<double> zipf_shares(uint32_t count, double exponent);
/// Shares of `count` items, each `ratio` times as popular as the next; they add up to 1.
std::vector<double> geometric_shares(uint32_t count, double ratio);

/// Draws indices with given weights (≥ 0, not all 0). O(log n) a draw.
class weighted_choice {
 public:
  explicit weighted_choice(const std::vector<double>& weights);
  uint32_t operator()(random_stream& random) const;

 private:
  std::vector<double> sums_;
};

}  // namespace troupe
