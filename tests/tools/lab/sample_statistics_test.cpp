#include "tools/lab/sample_statistics.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "policies/common/random.hpp"

using namespace troupe;

TEST_CASE("the interval around a mean is Student's") {
  // tables: t(0.975, 1) = 12.706, t(0.975, 7) = 2.365, t(0.975, 30) = 2.042
  CHECK(lab::ci95(std::vector<double>{1, 3}).value() ==
        doctest::Approx(12.706 * std::sqrt(2.0) / std::sqrt(2.0)).epsilon(1e-4));
  const std::vector<double> eight{2, 4, 4, 4, 5, 5, 7, 9};
  CHECK(lab::mean(eight) == 5);
  CHECK(lab::ci95(eight).value() == doctest::Approx(2.3646 * std::sqrt(32.0 / 7 / 8)).epsilon(1e-4));
  std::vector<double> many;
  for (int i = 0; i < 31; ++i) many.push_back(i % 2);
  const double deviation = std::sqrt((16 * std::pow(15.0 / 31, 2) + 15 * std::pow(16.0 / 31, 2)) / 30);
  CHECK(lab::ci95(many).value() == doctest::Approx(2.0423 * deviation / std::sqrt(31.0)).epsilon(1e-4));
}

TEST_CASE("too few samples give no interval") {
  CHECK(lab::mean({}) == 0);
  CHECK_FALSE(lab::ci95({}));
  CHECK_FALSE(lab::ci95(std::vector<double>{7}));
  CHECK(lab::quantile({}, 0.5) == 0);
}

TEST_CASE("an interval is at least as wide as the precision of the samples") {
  const std::vector<double> equal{100, 100, 100}, apart{1, 3};
  CHECK(lab::ci95(equal).value() == 0);
  CHECK(lab::ci95(equal, 0.01).value() == doctest::Approx(1));
  CHECK(lab::ci95(apart, 0.01).value() == lab::ci95(apart).value());
}

TEST_CASE("95 of 100 intervals contain the true mean") {
  random_stream random{1, "intervals"};
  int inside = 0;
  constexpr int trials = 4000;
  for (int i = 0; i < trials; ++i) {
    std::vector<double> samples;
    for (int k = 0; k < 6; ++k) {
      double x = -6;
      for (int j = 0; j < 12; ++j) x += random.uniform();
      samples.push_back(10 + x);
    }
    if (std::abs(lab::mean(samples) - 10) <= lab::ci95(samples)) ++inside;
  }
  CHECK(inside > 0.935 * trials);
  CHECK(inside < 0.965 * trials);
}

TEST_CASE("a quantile is one of the samples") {
  CHECK(lab::quantile({3, 1, 2, 4}, 0.5) == 2);
  CHECK(lab::quantile({3, 1, 2, 4}, 0.51) == 3);
  CHECK(lab::quantile({3, 1, 2, 4}, 0) == 1);
  CHECK(lab::quantile({3, 1, 2, 4}, 1) == 4);
}
