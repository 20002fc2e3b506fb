#include "messages/cluster/find_node.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

cluster_spec two_nodes() {
  cluster_spec c;
  for (const char* name : {"head", "worker"}) c.nodes.emplace_back().name = name;
  return c;
}

}  // namespace

TEST_CASE("find_node: a node is found by its whole name") {
  const auto c = two_nodes();
  CHECK(find_node(c, "worker") == node_id{1});
  CHECK_FALSE(find_node(c, "work"));
  CHECK_FALSE(find_node(c, ""));
}

TEST_CASE("find_node: the answer to an unknown name suggests a known one") {
  auto c = two_nodes();
  CHECK(no_such_node(c, "worked") == "the cluster has no node 'worked'; did you mean 'worker'?");
  CHECK(no_such_node(c, "x") == "the cluster has no node 'x'; known: head, worker");
  CHECK(no_such_domain(c, "left") == "the cluster has no [[domain]] to move a model to");
  c.domains.emplace_back().name = "left";
  CHECK(no_such_domain(c, "lefd") == "the cluster has no domain 'lefd'; did you mean 'left'?");
}
