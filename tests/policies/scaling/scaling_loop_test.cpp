#include <doctest/doctest.h>

#include "tests/policies/scaling/scaling_world.hpp"

using namespace troupe;

TEST_CASE("scaling loop: whatever happens, limits and copies hold, and all is well when events stop") {
  uint64_t orders = 0;
  for (uint64_t seed = 0; seed < 800; ++seed) {
    scaling_world w(seed);
    for (int again = 0; again < 2 && w.violation().empty(); ++again) {
      for (int event = 0; event < 300; ++event) w.disturb();
      CHECK_MESSAGE(w.settle(), "seed ", seed, " never settles");
      w.check_settled();
    }
    CHECK(w.violation() == "");
    orders += w.orders();
  }
  CHECK(orders > 40'000);
}
