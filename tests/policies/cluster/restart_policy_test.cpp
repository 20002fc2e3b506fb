#include "policies/cluster/restart_policy.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("each death in a row waits twice as long, up to the longest delay, without end") {
  restart_policy p({.first = 200ms, .max_delay = 1s});
  for (const duration delay : {200ms, 400ms, 800ms, 1000ms, 1000ms})
    CHECK(p.died(at(5s), at(6s)) == at(6s + delay));
  for (int n = 0; n < 10'000; ++n) CHECK(p.died(at(5s), at(6s)) == at(7s));
  CHECK(p.deaths_in_a_row() == 10'005);
}

TEST_CASE("a process that lived long enough starts a new row") {
  restart_policy p({.first = 200ms, .max_delay = 30s, .steady = 60s});
  CHECK(p.died(at(0s), at(1s)) == at(1200ms));
  CHECK(p.died(at(2s), at(61999ms)) == at(62399ms));
  CHECK(p.deaths_in_a_row() == 2);
  CHECK(p.died(at(63s), at(123s)) == at(123200ms));
  CHECK(p.deaths_in_a_row() == 1);
}

TEST_CASE("a process is given up after as many deaths in a row as the options say") {
  restart_policy p({.first = 1s, .give_up_after = 3});
  CHECK(p.died(at(0s), at(0s)) == at(1s));
  CHECK(p.died(at(1s), at(1s)) == at(3s));
  CHECK(p.died(at(3s), at(3s)) == never);
  restart_policy once({.give_up_after = 1});
  CHECK(once.died(at(0s), at(0s)) == never);
}
