#include "policies/batching/load_counter.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("load_counter: a report is due as soon as there is anything to report, then once an interval") {
  load_counter l(100ms);
  CHECK(l.due_at() == never);
  CHECK_FALSE(l.take(ms(5)));
  l.count_good(3);
  l.count_bad();
  CHECK(l.due_at() <= ms(5));
  const auto first = l.take(ms(5));
  REQUIRE(first);
  CHECK(first->good == 3);
  CHECK(first->bad == 1);
  CHECK(l.due_at() == never);
  l.count_bad();
  CHECK(l.due_at() == ms(105));
  CHECK_FALSE(l.take(ms(104)));
  const auto second = l.take(ms(105));
  REQUIRE(second);
  CHECK(second->good == 0);
  CHECK(second->bad == 1);
}

TEST_CASE("load_counter: without an interval there are no reports") {
  load_counter l({});
  l.count_bad();
  CHECK(l.due_at() == never);
  CHECK_FALSE(l.take(ms(5)));
}
