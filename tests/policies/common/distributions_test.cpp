#include "policies/common/distributions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <numeric>

using namespace troupe;

namespace {

struct moments {
  double mean, deviation;
};

template <class Draw>
moments measure(Draw draw, int n = 200000) {
  double sum = 0, squares = 0;
  for (int i = 0; i < n; ++i) {
    const double x = draw();
    sum += x;
    squares += x * x;
  }
  const double mean = sum / n;
  return {mean, std::sqrt(squares / n - mean * mean)};
}

}  // namespace

TEST_CASE("variates have the mean and deviation of their distributions") {
  random_stream random(11, "variates");
  SUBCASE("exponential") {
    const auto m = measure([&] { return exponential(random, 3); });
    CHECK(m.mean == doctest::Approx(3).epsilon(0.02));
    CHECK(m.deviation == doctest::Approx(3).epsilon(0.02));
  }
  SUBCASE("normal") {
    const auto m = measure([&] { return standard_normal(random); });
    CHECK(std::abs(m.mean) < 0.01);
    CHECK(m.deviation == doctest::Approx(1).epsilon(0.02));
  }
  SUBCASE("gamma, shapes below and above one") {
    for (const double shape : {0.25, 1.0, 4.0, 30.0}) {
      CAPTURE(shape);
      const auto m = measure([&] { return gamma_variate(random, shape, 2); });
      CHECK(m.mean == doctest::Approx(2 * shape).epsilon(0.03));
      CHECK(m.deviation == doctest::Approx(2 * std::sqrt(shape)).epsilon(0.03));
    }
  }
}

TEST_CASE("Zipf shares fall with the given power and add up to one") {
  const auto shares = zipf_shares(100, 0.9);
  CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == doctest::Approx(1));
  CHECK(shares[0] / shares[9] == doctest::Approx(std::pow(10, 0.9)));
  for (const double s : zipf_shares(5, 0)) CHECK(s == doctest::Approx(0.2));
}

TEST_CASE("geometric shares each fall by the ratio and add up to one") {
  const auto shares = geometric_shares(1000, 1.5);
  CHECK(std::accumulate(shares.begin(), shares.end(), 0.0) == doctest::Approx(1));
  CHECK(shares[0] == doctest::Approx(1.0 / 3));
  for (size_t i = 1; i < 50; ++i) CHECK(shares[i - 1] / shares[i] == doctest::Approx(1.5));
  for (const double s : geometric_shares(5, 1)) CHECK(s == doctest::Approx(0.2));
}

TEST_CASE("a weighted choice follows its weights and never takes an entry of weight zero") {
  random_stream random(5, "choice");
  const weighted_choice choose({0, 3, 0, 1, 0});
  std::vector<int> times(5);
  for (int i = 0; i < 40000; ++i) ++times.at(choose(random));
  CHECK(times[0] + times[2] + times[4] == 0);
  CHECK(times[1] == doctest::Approx(30000).epsilon(0.02));
}
