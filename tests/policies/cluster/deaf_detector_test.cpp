#include "policies/cluster/deaf_detector.hpp"

#include <doctest/doctest.h>

#include "tests/policies/cluster/three_nodes.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Silent incarnations of the peer until the node is deaf.
int silent_until_deaf(deaf_detector& d, node_id peer) {
  int n = 0;
  for (; !d.deaf() && n < 100; ++n) d.silent(peer);
  return n;
}

}  // namespace

TEST_CASE(
    "deaf_detector: a node is deaf after two silent incarnations of a peer in a row, later after four") {
  deaf_detector d(3);
  d.silent(right_node);
  CHECK_FALSE(d.deaf());
  for (const int expected : {2, 4, 8}) {
    CHECK(silent_until_deaf(d, left_node) == expected);
    d.renewed();
    CHECK_FALSE(d.deaf());
  }
  CHECK(silent_until_deaf(d, right_node) == 2);  // the one before the new incarnations does not count
}

TEST_CASE("deaf_detector: a peer that was heard is as good as new") {
  deaf_detector d(3);
  CHECK(silent_until_deaf(d, left_node) == 2);
  d.renewed();
  d.silent(left_node);
  d.heard(left_node);
  CHECK(silent_until_deaf(d, left_node) == 2);
}
