#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

/// One model alone at this rate, with these segments.
world_result run_at(double rate_rps, std::vector<rate_segment> segments, duration length) {
  const auto c = small_cluster();
  auto w = small_workload(c, length);
  for (auto& m : w.models) m.rate_rps = 0;
  w.models[0].rate_rps = rate_rps;
  w.segments = std::move(segments);
  auto result = run(c, w, {.seed = 7});
  CHECK_MESSAGE(result.violations.empty(), told(result, 7));
  return result;
}

}  // namespace

TEST_CASE("clients: requests come at the rate of each segment") {
  const auto offered = run_at(100, {{1s, 3}, {2s, 0}, {4s, 0.5}}, 6s).total.offered;
  CHECK(offered > 400);
  CHECK(offered < 600);  // 500 expected
}

TEST_CASE("clients: a rate may rise from next to nothing") {
  // Nine requests at a rate of 1e-9 a second would overflow 64 bits of nanoseconds.
  for (const auto& segments : {std::vector<rate_segment>{{1s, 1e11}}, {{1s, 1e11}, {2s, 1e11}, {3s, 0}}}) {
    const auto result = run_at(1e-9, segments, 3s);
    CHECK(result.total.offered > 140);
    CHECK(result.total.offered < 260);  // 200 expected
    CHECK(result.ledger_balanced);
  }
}

TEST_CASE("clients: a model with a negligible rate gets no requests, and the run ends") {
  for (const double rate : {1e-9, 1e-30, 1e-300}) CHECK(run_at(rate, {{1s, 2}}, 2s).total.offered == 0);
}
