#include "tools/lab/load_shape.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::lab;

TEST_CASE("a changing load has a change for every step, the same for the same seed") {
  changing_load load;
  load.step = 1s;
  load.length = 200s;
  const auto a = changes_of(load, 24), b = changes_of(load, 24);
  REQUIRE(a.size() == 200);
  double sum = 0, min = 1e9, max = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    CHECK(a[i].at == std::chrono::seconds{i});
    REQUIRE(a[i].scale.size() == 24);
    CHECK(a[i].scale == b[i].scale);
    for (const double x : a[i].scale) {
      sum += x;
      min = std::min(min, x);
      max = std::max(max, x);
    }
  }
  CHECK(sum / 200 / 24 == doctest::Approx(1).epsilon(0.1));
  CHECK(min >= 0.05);
  CHECK(min < 0.6);
  CHECK(max > 1.4);
  load.seed = 2;
  CHECK(changes_of(load, 24)[0].scale != a[0].scale);
}

TEST_CASE("a rush comes in the third quarter and is over after it") {
  changing_load load;
  load.step = 1s;
  load.length = 80s;
  const auto calm = changes_of(load, 3);
  load.rush_times = 3;
  const auto rush = changes_of(load, 3);
  CHECK(rush[39].scale == calm[39].scale);
  CHECK(rush[50].scale[1] == doctest::Approx(3 * calm[50].scale[1]));
  CHECK(rush[61].scale == calm[61].scale);
}
