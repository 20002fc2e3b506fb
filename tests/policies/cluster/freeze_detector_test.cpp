#include "policies/cluster/freeze_detector.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("freeze_detector: a node that was not awake for almost the timeout was frozen, once") {
  freeze_detector d(1200ms, 100ms);
  CHECK_FALSE(d.was_frozen(at(100s)));  // it has not begun
  d.awake(at(100s));
  CHECK_FALSE(d.was_frozen(at(101s)));
  CHECK(d.was_frozen(at(101s) + 1ns));
  CHECK_FALSE(d.was_frozen(at(101s) + 1ns));
  CHECK_FALSE(d.was_frozen(at(102s)));
  d.awake(at(102s));
  CHECK_FALSE(d.was_frozen(at(103s)));
}

TEST_CASE("freeze_detector: half the timeout is no freeze, however long a heartbeat is") {
  freeze_detector d(1s, 400ms);
  d.awake(at(100s));
  CHECK_FALSE(d.was_frozen(at(100s) + 500ms));
  CHECK(d.was_frozen(at(100s) + 501ms));
}
