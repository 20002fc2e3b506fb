#include "policies/common/time_math.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("time arithmetic saturates at the ends of its range") {
  const time_point t{5ms};
  CHECK(saturating_subtract(t, 2ms) == time_point{3ms});
  CHECK(saturating_subtract(never, 2ms) == never);
  CHECK(saturating_subtract(long_ago, -2ms) == long_ago);
  CHECK(saturating_subtract(long_ago + 1ms, 2ms) == long_ago);
  CHECK(saturating_subtract(never - 1ms, -2ms) == never);
  CHECK(saturating_difference(t, time_point{2ms}) == 3ms);
  CHECK(saturating_difference(t, long_ago) == duration::max());
  CHECK(saturating_difference(long_ago, t) == duration::min());
}
