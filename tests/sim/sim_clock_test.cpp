#include "tools/sim/sim_clock.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::sim;

TEST_CASE("a clock that runs fast is ahead by its drift") {
  duration truth{};
  const sim_clock c(truth, 2h, 100);
  CHECK(c.now() == time_point{2h});
  truth = 10s;
  CHECK(c.now() == time_point{2h + 10s + 1ms});
}

TEST_CASE("the true time of a local one is the first at which the clock says so") {
  for (const double ppm : {-80.0, 0.0, 0.5, 33.3, 500.0}) {
    duration truth{};
    sim_clock c(truth, 1h, ppm);
    truth = 123456789ns;
    c.add_drift(7);
    for (const auto ahead : {1ns, 999ns, 1000001ns, 77777777777ns}) {
      const auto wanted = c.now() + ahead;
      const auto at = c.true_time(wanted);
      const auto before = truth;
      truth = at;
      CHECK(c.now() >= wanted);
      truth = at - 1ns;
      CHECK(c.now() < wanted);
      truth = before;
    }
  }
}

TEST_CASE("a change of drift does not move the clock") {
  duration truth = 1s;
  sim_clock c(truth, 1h, 50);
  const auto before = c.now();
  c.add_drift(-100);
  CHECK(c.now() == before);
  truth += 1s;
  CHECK(c.now() - before == 1s - 50us);
}
