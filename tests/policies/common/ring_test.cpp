#include "policies/common/ring.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("ring: keeps the newest entries in order and counts those that it overwrote") {
  ring<int> r(3);
  for (int i = 1; i <= 5; ++i) r.push(i);
  CHECK(r.size() == 3);
  CHECK(r.take_lost() == 2);
  CHECK(r.take_lost() == 0);
  CHECK(r.take(2) == std::vector<int>{3, 4});
  r.push(6);
  CHECK(r.take(10) == std::vector<int>{5, 6});
  CHECK(r.take(10).empty());
}
