#include "policies/cluster/deaf_detector.hpp"

#include <doctest/doctest.h>

#include "tests/policies/cluster/three_nodes.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

const std::vector<node_id> nobody;

/// The detector of `head_node`; `left_node` is on its host, and `right_node` on `right_host`.
deaf_detector on_head(const std::string& right_host) {
  cluster_spec c;
  c.nodes.resize(3);
  c.nodes[right_node.value].host = right_host;
  return {c, head_node};
}
deaf_detector on_one_host() { return on_head(node_spec().host); }

/// Silent incarnations of the peer until the node is deaf.
int silent_until_deaf(deaf_detector& d, node_id peer) {
  int n = 0;
  for (; !d.deaf(nobody) && n < 100; ++n) d.silent(peer);
  return n;
}

}  // namespace

TEST_CASE("deaf_detector: two silent incarnations of a peer in a row make a node deaf, later four") {
  auto d = on_one_host();
  d.silent(right_node);
  CHECK_FALSE(d.deaf(nobody));
  for (const int expected : {2, 4, 8}) {
    CHECK(silent_until_deaf(d, left_node) == expected);
    d.renewed();
    CHECK_FALSE(d.deaf(nobody));
  }
}

TEST_CASE("deaf_detector: a node that hears a peer of its host is not deaf") {
  auto d = on_one_host();
  CHECK(silent_until_deaf(d, left_node) == 2);
  CHECK_FALSE(d.deaf({right_node}));  // the fault is the other peer's
  CHECK(d.deaf(nobody));
  d.heard(left_node);
  CHECK_FALSE(d.deaf(nobody));
  CHECK(silent_until_deaf(d, left_node) == 2);
  d.renewed();
  d.heard(right_node);
  CHECK(silent_until_deaf(d, left_node) == 2);
}

TEST_CASE("deaf_detector: peers of other hosts use other ways") {
  auto d = on_head("10.0.0.7");
  CHECK(silent_until_deaf(d, right_node) == 100);
  CHECK(silent_until_deaf(d, left_node) == 2);
  d.heard(right_node);
  CHECK(d.deaf({right_node}));
}
