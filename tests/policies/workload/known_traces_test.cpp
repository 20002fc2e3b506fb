#include "policies/workload/known_traces.hpp"

#include <doctest/doctest.h>

#include "policies/workload/trace_statistics.hpp"

using namespace troupe;

namespace {

trace_statistics::report statistics_of(llm_traffic_options o, uint64_t seed, int n) {
  o.seed = seed;
  llm_traffic traffic(o);
  trace_statistics out;
  for (int i = 0; i < n; ++i) out.add(traffic.next());
  return out.get();
}

}  // namespace

// The expected numbers are those of the traces themselves.
TEST_CASE("known traces: Azure's code trace comes in bursts") {
  const auto r = statistics_of(*traffic_like("azure-code"), 1, 200'000);
  CHECK(r.rate == doctest::Approx(8819 / 3436.0).epsilon(0.1));
  CHECK(r.gap_cv == doctest::Approx(13.2).epsilon(0.1));
  CHECK(r.empty == doctest::Approx(0.701).epsilon(0.05));
  CHECK(r.prompt.mean == doctest::Approx(2048).epsilon(0.03));
  CHECK(r.prompt.median == doctest::Approx(1469).epsilon(0.03));
  CHECK(r.output.mean == doctest::Approx(27.9).epsilon(0.06));
  CHECK(r.output.median == 13);
  double peak = 0;  // of as many requests as the trace has
  for (uint64_t seed = 1; seed <= 20; ++seed)
    peak += statistics_of(*traffic_like("azure-code"), seed, 8819).peak / 20;
  CHECK(peak == doctest::Approx(24.7).epsilon(0.2));
}

TEST_CASE("known traces: Azure's conversations are nearly a Poisson process") {
  const auto r = statistics_of(*traffic_like("azure-conv"), 1, 100'000);
  CHECK(r.rate == doctest::Approx(19366 / 3502.0).epsilon(0.03));
  CHECK(r.gap_cv == doctest::Approx(1.09).epsilon(0.03));
  CHECK(r.empty < 0.002);
  CHECK(r.prompt.mean == doctest::Approx(1155).epsilon(0.03));
  CHECK(r.prompt.median == doctest::Approx(1020).epsilon(0.03));
  CHECK(r.output.mean == doctest::Approx(211).epsilon(0.03));
  CHECK(r.output.median == doctest::Approx(129).epsilon(0.03));
}

TEST_CASE("known traces: BurstGPT's generator") {
  const auto r = statistics_of(*traffic_like("burstgpt"), 1, 100'000);
  CHECK(r.rate == doctest::Approx(1).epsilon(0.03));
  CHECK(r.gap_cv == doctest::Approx(1.414).epsilon(0.03));
}

TEST_CASE("known traces: a rate replaces the trace's") {
  for (const auto name : known_trace_names) {
    CAPTURE(name);
    CHECK(statistics_of(*traffic_like(name, 6), 1, 500'000).rate == doctest::Approx(6).epsilon(0.1));
  }
  const auto slow = statistics_of(*traffic_like("azure-code"), 1, 200'000);
  const auto fast = statistics_of(*traffic_like("azure-code", 6), 1, 500'000);
  CHECK(fast.empty == doctest::Approx(slow.empty).epsilon(0.05));
  CHECK(statistics_of(*traffic_like("azure-code", 0.01), 1, 200'000).rate ==
        doctest::Approx(0.01).epsilon(0.1));
  CHECK_FALSE(traffic_like("azure"));
}
