#include "tools/lab/sample_statistics.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::lab {

namespace {

/// The 0.975 quantile of Student's t with this many degrees of freedom: a table where the distribution is far
/// from normal, then the Cornish-Fisher expansion, accurate to four digits.
double student(size_t freedom) {
  static constexpr double table[]{12.7062, 4.3027, 3.1824, 2.7764, 2.5706, 2.4469, 2.3646,
                                  2.3060,  2.2622, 2.2281, 2.2010, 2.1788, 2.1604, 2.1448,
                                  2.1314,  2.1199, 2.1098, 2.1009, 2.0930, 2.0860};
  if (freedom <= std::size(table)) return table[freedom - 1];
  constexpr double z = 1.959964;
  const auto n = static_cast<double>(freedom);
  const double z3 = z * z * z, z5 = z3 * z * z;
  return z + (z3 + z) / (4 * n) + (5 * z5 + 16 * z3 + 3 * z) / (96 * n * n);
}

}  // namespace

double mean(std::span<const double> samples) {
  double sum = 0;
  for (const double x : samples) sum += x;
  return samples.empty() ? 0 : sum / static_cast<double>(samples.size());
}

std::optional<double> ci95(std::span<const double> samples, double precision) {
  if (samples.size() < 2) return {};
  const double middle = mean(samples);
  double squares = 0;
  for (const double x : samples) squares += (x - middle) * (x - middle);
  const auto n = static_cast<double>(samples.size());
  return std::max(student(samples.size() - 1) * std::sqrt(squares / (n - 1) / n), precision * middle);
}

double quantile(std::vector<double> samples, double q) {
  if (samples.empty()) return 0;
  std::sort(samples.begin(), samples.end());
  const auto at = static_cast<size_t>(std::ceil(q * static_cast<double>(samples.size())));
  return samples[std::clamp<size_t>(at, 1, samples.size()) - 1];
}

}  // namespace troupe::lab
