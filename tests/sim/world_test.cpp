#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

TEST_CASE("a cluster whose clocks are hours apart serves within its deadlines") {
  const auto c = small_cluster();
  world w(c, small_workload(c), {.seed = 1});
  const auto r = w.run();
  INFO(told(r, 1));
  CHECK(r.violations.empty());
  CHECK(r.total.offered > 500);
  CHECK(r.total.of(fate::finished) + r.total.of(fate::dropped) == r.total.offered);
  CHECK(r.total.in_slo == r.total.of(fate::finished));
  CHECK(r.total.of(fate::finished) > r.total.offered * 99 / 100);
}
