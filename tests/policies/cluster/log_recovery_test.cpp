#include "policies/cluster/log_recovery.hpp"

#include <doctest/doctest.h>

#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("log_recovery: it is complete once every other node has sent its log") {
  log_recovery r(3);
  r.begin(at(3s));
  CHECK_FALSE(r.complete(at(0s)));
  r.received(node_id{1});
  r.received(node_id{1});
  CHECK_FALSE(r.complete(at(0s)));
  r.received(node_id{2});
  CHECK(r.complete(at(0s)));
  r.begin(at(5s));
  CHECK_FALSE(r.complete(at(4s)));
}

TEST_CASE("log_recovery: it is complete at its bound, and at once in a cluster of one node") {
  log_recovery r(3);
  CHECK_FALSE(r.complete(at(100s)));  // it has not begun
  r.begin(at(3s));
  CHECK(r.until() == at(3s));
  CHECK_FALSE(r.complete(at(3s) - 1ns));
  CHECK(r.complete(at(3s)));
  CHECK(log_recovery(1).complete(at(0s)));
}
