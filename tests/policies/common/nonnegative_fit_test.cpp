#include "policies/common/nonnegative_fit.hpp"

#include <doctest/doctest.h>

#include "policies/common/random.hpp"

using namespace troupe;

TEST_CASE("a nonnegative fit finds the coefficients that made its samples") {
  nonnegative_fit<4> fit;
  random_stream random(1, "fit");
  const std::array<double, 4> truth{10, 0.03, 0, 2.5e-4};
  for (int i = 0; i < 200; ++i) {
    const std::array<double, 4> f{1, random.uniform() * 500, random.uniform() * 32, random.uniform() * 60000};
    double value = 0;
    for (size_t k = 0; k < 4; ++k) value += truth[k] * f[k];
    fit.add(f, value, 1 / (value * value));
  }
  const auto x = fit.solve();
  for (size_t k = 0; k < 4; ++k) CHECK(x[k] == doctest::Approx(truth[k]).epsilon(1e-6));
  CHECK(fit.squared_error(x) < 1e-9);
  CHECK(fit.squared_error({10, 0.03, 0, 0}) > 1e-3);
}

TEST_CASE("a coefficient that would be negative is zero, and the others are optimal with that") {
  nonnegative_fit<2> fit;  // value = 5 - features[1]
  for (const double x : {0.0, 1.0, 2.0}) fit.add({1, x}, 5 - x);
  const auto x = fit.solve();
  CHECK(x[0] == doctest::Approx(4));  // the mean
  CHECK(x[1] == 0);
  nonnegative_fit<1> below;
  below.add({1}, -3);
  CHECK(below.solve()[0] == 0);
}

TEST_CASE("an undetermined coefficient is zero, and none is NaN") {
  CHECK(nonnegative_fit<3>{}.solve() == std::array<double, 3>{});
  nonnegative_fit<3> fit;  // the second is always zero, the third always twice the first
  for (const double x : {1.0, 2.0, 3.0}) fit.add({x, 0, 2 * x}, 6 * x);
  const auto x = fit.solve();
  CHECK(x[1] == 0);
  CHECK(x[0] + 2 * x[2] == doctest::Approx(6));
}

TEST_CASE("samples that count less and less are forgotten") {
  nonnegative_fit<2> fit;
  for (int i = 0; i < 400; ++i) {
    fit.scale(0.95);
    fit.add({1, static_cast<double>(i % 7)}, i < 200 ? 3 + i % 7 : 8 + 2 * (i % 7));
  }
  const auto x = fit.solve();
  CHECK(x[0] == doctest::Approx(8).epsilon(0.01));
  CHECK(x[1] == doctest::Approx(2).epsilon(0.01));
}
