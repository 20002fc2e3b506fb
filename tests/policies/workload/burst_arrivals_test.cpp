#include "policies/workload/burst_arrivals.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace troupe;

namespace {

constexpr burst_spec some_bursts{.requests = 40,
                                 .requests_cv = 1,
                                 .gap = 50ms,
                                 .gap_sigma = 0.5,
                                 .min_pause = 1s,
                                 .pause = 10s,
                                 .pause_cv = 1.5};

std::vector<time_point> arrivals_of(const burst_spec& spec, uint64_t seed, int n) {
  burst_arrivals process(spec, time_point{3s}, random_stream(seed, "arrivals"));
  std::vector<time_point> out;
  for (int i = 0; i < n; ++i) out.push_back(process.next());
  return out;
}

double rate_of(const std::vector<time_point>& times) {
  return static_cast<double>(times.size() - 1) / to_seconds(times.back() - times.front());
}

}  // namespace

TEST_CASE("burst arrivals: bursts and pauses have the means of their spec") {
  const auto times = arrivals_of(some_bursts, 1, 400'000);
  CHECK(times.front() == time_point{3s});
  double within = 0, pauses = 0;
  int gaps = 0, bursts = 1;
  for (size_t i = 1; i < times.size(); ++i) {
    const auto gap = times[i] - times[i - 1];
    REQUIRE(gap >= 0s);
    if (gap >= 1s) {
      pauses += to_seconds(gap);
      ++bursts;
    } else {
      within += to_seconds(gap);
      ++gaps;
    }
  }
  CHECK(within / gaps == doctest::Approx(0.05).epsilon(0.05));
  CHECK(pauses / bursts == doctest::Approx(10).epsilon(0.05));
  CHECK(static_cast<double>(times.size()) / bursts == doctest::Approx(40.5).epsilon(0.05));
  CHECK(rate_of(times) == doctest::Approx(some_bursts.rate()).epsilon(0.05));
}

TEST_CASE("burst arrivals: denser ones have more requests and pauses as long") {
  const auto denser = some_bursts.denser(3);
  CHECK(denser.rate() == doctest::Approx(3 * some_bursts.rate()).epsilon(0.05));
  CHECK(denser.pause == some_bursts.pause);
  CHECK(rate_of(arrivals_of(denser, 1, 400'000)) == doctest::Approx(denser.rate()).epsilon(0.05));
}

TEST_CASE("burst arrivals: rates below that of small bursts lengthen the pauses") {
  for (const double factor : {0.5, 0.2, 0.01, 1e-4}) {
    CAPTURE(factor);
    const auto sparser = some_bursts.denser(factor);
    CHECK(sparser.requests >= 10);
    CHECK(rate_of(arrivals_of(sparser, 1, 400'000)) ==
          doctest::Approx(factor * some_bursts.rate()).epsilon(0.08));
  }
}

TEST_CASE("burst arrivals: the same seed gives the same arrivals, another seed others") {
  CHECK(arrivals_of(some_bursts, 4, 100) == arrivals_of(some_bursts, 4, 100));
  CHECK(arrivals_of(some_bursts, 4, 100) != arrivals_of(some_bursts, 5, 100));
}
