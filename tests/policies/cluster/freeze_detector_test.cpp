#include "policies/cluster/freeze_detector.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("freeze_detector: a node that was not awake for longer than the timeout was frozen, once") {
  freeze_detector d(1s);
  CHECK_FALSE(d.was_frozen(at(100s)));  // it has not begun
  d.awake(at(100s));
  CHECK_FALSE(d.was_frozen(at(101s)));
  CHECK(d.was_frozen(at(101s) + 1ns));
  CHECK_FALSE(d.was_frozen(at(101s) + 1ns));
  CHECK_FALSE(d.was_frozen(at(102s)));
  d.awake(at(102s));
  CHECK_FALSE(d.was_frozen(at(103s)));
}
