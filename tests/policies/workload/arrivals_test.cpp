#include "policies/workload/arrivals.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace troupe;

namespace {

std::vector<time_point> draw(const arrival_spec& spec, uint64_t seed, int n) {
  arrival_process process(spec, time_point{1s}, random_stream(seed, "arrivals"));
  std::vector<time_point> times;
  for (int i = 0; i < n; ++i) times.push_back(process.next());
  return times;
}

}  // namespace

TEST_CASE("arrivals have the rate and the burstiness of their spec, and never go back") {
  struct expected {
    arrival_spec spec;
    double cv;
  };
  for (const auto& [spec, cv] :
       {expected{{arrival_kind::constant, 1000}, 0}, expected{{arrival_kind::poisson, 1000}, 1},
        expected{{arrival_kind::gamma, 1000, 3}, 3}, expected{{arrival_kind::gamma, 1000, 0.3}, 0.3}}) {
    CAPTURE(to_string(spec.kind));
    CAPTURE(spec.cv);
    constexpr int n = 200000;
    const auto times = draw(spec, 1, n);
    double squares = 0;
    for (int i = 1; i < n; ++i) {
      REQUIRE(times[i] >= times[i - 1]);
      squares += std::pow(to_ms(times[i] - times[i - 1]), 2);
    }
    const double mean = to_ms(times.back() - times.front()) / (n - 1);
    CHECK(mean == doctest::Approx(1).epsilon(0.03));
    CHECK(std::abs(std::sqrt(std::max(0.0, squares / (n - 1) - mean * mean)) - cv) < 0.03 * cv + 1e-3);
  }
}

TEST_CASE("the same seed gives the same arrivals, another seed others") {
  const arrival_spec spec{arrival_kind::gamma, 500, 2};
  CHECK(draw(spec, 4, 100) == draw(spec, 4, 100));
  CHECK(draw(spec, 4, 100) != draw(spec, 5, 100));
}

TEST_CASE("a constant process starts within one gap and does not drift when gaps are no whole nanoseconds") {
  const auto times = draw({arrival_kind::constant, 3e6}, 9, 3000001);
  CHECK(times.front() >= time_point{1s});
  CHECK(times.front() <= time_point{1s} + 334ns);
  CHECK(std::abs(to_ms(times.back() - times.front()) - 1000) < 1e-5);
}

TEST_CASE("kinds of arrivals go by their names") {
  arrival_kind kind{};
  for (size_t i = 0; i < arrival_kind_count; ++i) {
    CHECK(parse_arrival_kind(to_string(static_cast<arrival_kind>(i)), kind));
    CHECK(kind == static_cast<arrival_kind>(i));
  }
  CHECK_FALSE(parse_arrival_kind("uniform", kind));
}

TEST_CASE("arrivals beyond the range of time never come") {
  for (const auto kind : {arrival_kind::constant, arrival_kind::poisson, arrival_kind::gamma}) {
    const auto times = draw({kind, 1e-12, 2}, 3, 100);
    CHECK(std::is_sorted(times.begin(), times.end()));
    CHECK(times.back() == never);
  }
}
