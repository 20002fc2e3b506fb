// Least squares with nonnegative coefficients, for models of execution times.
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace troupe {

/// Keeps sums over its samples, not the samples. For few features: it tries all 2^N sets of them.
template <size_t N>
class nonnegative_fit {
  static_assert(N > 0 && N <= 10);

 public:
  using vector = std::array<double, N>;

  /// A sample: `value` ≈ `features` · coefficients; `weight` (not negative) scales its squared error.
  void add(const vector& features, double value, double weight = 1) {
    for (size_t i = 0; i < N; ++i) {
      for (size_t j = 0; j < N; ++j) products_[i][j] += weight * features[i] * features[j];
      moments_[i] += weight * features[i] * value;
    }
    squares_ += weight * value * value;
  }
  /// Scales the weight of all samples so far; less than 1 to forget them.
  void scale(double by) {
    for (auto& row : products_)
      for (auto& x : row) x *= by;
    for (auto& x : moments_) x *= by;
    squares_ *= by;
  }

  /// The coefficients with the least sum of squared errors. A feature that was always zero has coefficient
  /// zero. Among features that the samples do not distinguish, the split is arbitrary.
  vector solve() const {
    vector best{};
    double max_gain = 0;  // reduction of the sum by a set
    for (uint32_t set = 1; set < 1u << N; ++set) {
      vector x{};
      if (!solve_for(set, x)) continue;
      double gain = 0;
      for (size_t i = 0; i < N; ++i) gain += moments_[i] * x[i];
      // ties: the first set, which has fewer of the last features
      if (gain > max_gain * (1 + 1e-12)) max_gain = gain, best = x;
    }
    return best;
  }

  /// The weighted sum of squared errors with these coefficients.
  double squared_error(const vector& x) const {
    double sum = squares_;
    for (size_t i = 0; i < N; ++i) {
      sum -= 2 * x[i] * moments_[i];
      for (size_t j = 0; j < N; ++j) sum += x[i] * x[j] * products_[i][j];
    }
    return std::max(0.0, sum);
  }

 private:
  /// The best fit with these features alone, by Cholesky factorisation of their products, with each feature
  /// scaled to length 1. False: a coefficient is negative, or the samples do not distinguish the features.
  bool solve_for(uint32_t set, vector& x) const {
    constexpr double min_pivot = 1e-10;
    std::array<size_t, N> at{};
    size_t n = 0;
    for (size_t i = 0; i < N; ++i)
      if ((set >> i & 1) != 0) at[n++] = i;
    vector length{}, y{};
    for (size_t i = 0; i < n; ++i) {
      if (!(products_[at[i]][at[i]] > 0)) return false;
      length[i] = std::sqrt(products_[at[i]][at[i]]);
    }
    std::array<vector, N> l{};
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double sum = products_[at[i]][at[j]] / (length[i] * length[j]);
        for (size_t k = 0; k < j; ++k) sum -= l[i][k] * l[j][k];
        if (i == j && !(sum > min_pivot)) return false;
        l[i][j] = i == j ? std::sqrt(sum) : sum / l[j][j];
      }
      y[i] = moments_[at[i]] / length[i];
      for (size_t k = 0; k < i; ++k) y[i] -= l[i][k] * y[k];
      y[i] /= l[i][i];
    }
    for (size_t i = n; i-- > 0;) {
      for (size_t k = i + 1; k < n; ++k) y[i] -= l[k][i] * y[k];
      y[i] /= l[i][i];
      if (y[i] < 0) return false;
      x[at[i]] = y[i] / length[i];
    }
    return true;
  }

  std::array<vector, N> products_{};
  vector moments_{};
  double squares_ = 0;
};

}  // namespace troupe
