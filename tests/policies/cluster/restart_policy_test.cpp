#include "policies/cluster/restart_policy.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("each death within a minute waits twice as long, and the sixth is the last") {
  restart_policy p({200ms, 10s, 5, 60s});
  duration now{};
  for (const duration wait : {200ms, 400ms, 800ms, 1600ms, 3200ms}) {
    CHECK(p.died(at(now)) == at(now + wait));
    now += wait + 1s;
  }
  CHECK(p.died(at(now)) == never);
  CHECK(p.died(at(now + 1s)) == never);
}

TEST_CASE("a process that lived long enough starts afresh") {
  restart_policy p({200ms, 10s, 2, 60s});
  CHECK(p.died(at(0s)) == at(200ms));
  CHECK(p.died(at(1s)) == at(1400ms));
  CHECK(p.died(at(2s)) == never);
  CHECK(p.died(at(62s)) == at(62200ms));
  CHECK(p.recent() == 1);
}

TEST_CASE("no wait is longer than the longest") {
  restart_policy p({1s, 3s, 10, 1h});
  CHECK(p.died(at(0s)) == at(1s));
  CHECK(p.died(at(0s)) == at(2s));
  CHECK(p.died(at(0s)) == at(3s));
  CHECK(p.died(at(0s)) == at(3s));
}

TEST_CASE("a process that may not be restarted is not") {
  restart_policy p({1s, 3s, 0, 60s});
  CHECK(p.died(at(0s)) == never);
}
