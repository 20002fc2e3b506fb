#include "policies/common/counter_growth.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("counter_growth: reports growth at most once per interval, and all of it") {
  counter_growth g(1s);
  CHECK(g.take(0, at(0s)) == 0);
  CHECK(g.take(3, at(0s)) == 3);
  CHECK(g.take(5, at(999ms)) == 0);
  CHECK(g.take(6, at(1s)) == 3);
  CHECK(g.take(6, at(5s)) == 0);
  CHECK(g.take(7, at(5s)) == 1);
}
