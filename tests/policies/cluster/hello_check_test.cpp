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

TEST_CASE("hello_check: nodes that run a model by different engines do not meet") {
  using enum model_engine;
  auto c = one_node();
  c.models.resize(3);
  c.models[1].name = "words";
  CHECK(engines_of(c).empty());
  c.models[1].decided_engine = native;
  CHECK(engines_of(c) == std::vector{engine_decision{model_id{1}, native}});
  auto h = a_hello("abc", std::string(version));
  CHECK_FALSE(check_hello(c, node_id{0}, h));  // a gateway decides nothing
  h.engines = {{model_id{0}, openvino}, {model_id{1}, native}, {model_id{7}, native}};
  CHECK_FALSE(check_hello(c, node_id{0}, h));
  h.engines = {{model_id{1}, openvino}};
  const auto other = check_hello(c, node_id{0}, h);
  REQUIRE(other);
  CHECK(other->reason == rejection_reason::other_engine);
  CHECK(other->detail ==
        "node 'head' runs model 'words' by the engine native, this one by openvino; start all "
        "nodes from the same build, or give the model an engine");
}
