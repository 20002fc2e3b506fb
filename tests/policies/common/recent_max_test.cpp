#include "policies/common/recent_max.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("a recent maximum is that of one to two windows") {
  recent_max m(1s);
  CHECK(m.get(at(0s)) == 0);
  m.add(at(100ms), 7);
  m.add(at(900ms), 3);
  CHECK(m.get(at(900ms)) == 7);
  m.add(at(1200ms), 2);
  CHECK(m.get(at(1900ms)) == 7);
  CHECK(m.get(at(2300ms)) == 2);
  CHECK(m.get(at(9s)) == 0);
}
