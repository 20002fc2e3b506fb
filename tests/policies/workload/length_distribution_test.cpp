#include "policies/workload/length_distribution.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <vector>

using namespace troupe;

namespace {

std::vector<uint32_t> sorted_lengths(const length_spec& spec, int n = 20'000) {
  const length_distribution lengths(spec);
  random_stream random(1, "lengths");
  std::vector<uint32_t> out;
  for (int i = 0; i < n; ++i) out.push_back(lengths(random));
  std::ranges::sort(out);
  return out;
}

}  // namespace

TEST_CASE("lengths: a log-normal distribution has its median and keeps its bounds") {
  const auto drawn = sorted_lengths(token_lengths{.median = 100, .sigma = 1, .max = 200});
  CHECK(drawn.front() >= 1);
  CHECK(drawn.back() == 200);
  CHECK(drawn[drawn.size() / 2] == doctest::Approx(100).epsilon(0.05));
  CHECK(sorted_lengths(token_lengths{.median = 7, .sigma = 0, .max = 9}).front() == 7);
}

TEST_CASE("lengths: measured ones have their quantiles, and all lengths between two of them") {
  static constexpr length_quantile quantiles[]{{0, 2}, {0.5, 10}, {0.9, 10}, {1, 1000}};
  const auto drawn = sorted_lengths(measured_lengths{quantiles});
  CHECK(drawn.front() == 2);
  CHECK(drawn[drawn.size() / 4] == doctest::Approx(6).epsilon(0.05));
  CHECK(drawn[drawn.size() * 7 / 10] == 10);
  CHECK(drawn[drawn.size() * 95 / 100] == doctest::Approx(505).epsilon(0.05));
  CHECK(drawn.back() <= 1000);
  CHECK(drawn.back() > 980);
}

TEST_CASE("lengths: Zipf's law") {
  std::map<uint32_t, double> counts;
  for (const auto n : sorted_lengths(zipf_lengths{.exponent = 1.1, .max = 1023})) {
    REQUIRE(n >= 1);
    REQUIRE(n <= 1023);
    ++counts[n];
  }
  CHECK(counts[1] / counts[2] == doctest::Approx(2.144).epsilon(0.08));  // 2^1.1
  CHECK(counts[1] / counts[4] == doctest::Approx(4.595).epsilon(0.08));
}
