#include "policies/cluster/hello_check.hpp"

#include <doctest/doctest.h>

#include "messages/common/version.hpp"

using namespace troupe;

namespace {

cluster_spec one_node() {
  cluster_spec c;
  c.hash = "abc";
  c.nodes.emplace_back().name = "head";
  return c;
}

hello a_hello(std::string hash, std::string its_version) {
  return {node_id{1}, {7}, std::move(hash), std::move(its_version), {}, 1, {}};
}

}  // namespace

TEST_CASE("hello_check: only the same cluster file and version are accepted") {
  const auto c = one_node();
  CHECK_FALSE(check_hello(c, node_id{0}, a_hello("abc", std::string(version))));
  const auto file = check_hello(c, node_id{0}, a_hello("def", std::string(version)));
  REQUIRE(file);
  CHECK(file->reason == rejection_reason::other_file);
  CHECK(file->incarnation == incarnation_id{7});
  CHECK(file->detail == "node 'head' was started with another cluster file (hash abc, this one def)");
  const auto other = check_hello(c, node_id{0}, a_hello("abc", "0.0.1"));
  REQUIRE(other);
  CHECK(other->reason == rejection_reason::other_version);
  CHECK(other->node == node_id{0});
}
