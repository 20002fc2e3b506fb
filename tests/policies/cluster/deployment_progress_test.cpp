#include "policies/cluster/deployment_progress.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {
const deployment line{3, model_id{1}, deployment_state::deployed, {}, 0};
constexpr node_id left_worker{0}, right_worker{1}, gateway_node{2};
const std::map<node_id, uint32_t> workers{{left_worker, 0}, {right_worker, 0}};
}  // namespace

TEST_CASE("a line is complete once every node that is up has done its part of this very revision") {
  deployment_progress p(workers);
  p.up(left_worker, {1});
  p.up(right_worker, {1});
  CHECK(p.missing(line) == left_worker);
  p.done(left_worker, {1}, {model_id{1}, 3, ""});
  p.done(right_worker, {1}, {model_id{1}, 2, ""});
  CHECK(p.missing(line) == right_worker);
  p.done(right_worker, {1}, {model_id{1}, 3, ""});
  CHECK(p.complete(line));
  p.done(right_worker, {1}, {model_id{1}, 2, ""});  // a late message
  CHECK(p.complete(line));
}

TEST_CASE("a node that cannot do its part is named, with its reason") {
  deployment_progress p(workers);
  p.up(left_worker, {1});
  p.up(right_worker, {1});
  p.done(left_worker, {1}, {model_id{1}, 3, ""});
  CHECK_FALSE(p.problem(line));
  p.done(right_worker, {1}, {model_id{1}, 3, "no such file"});
  CHECK_FALSE(p.complete(line));
  REQUIRE(p.problem(line));
  CHECK(p.problem(line)->node == right_worker);
  CHECK(p.problem(line)->what == "no such file");
}

TEST_CASE("nodes that are down are not awaited, and a new incarnation must do its part again") {
  deployment_progress p(workers);
  p.up(left_worker, {1});
  p.up(right_worker, {1});
  p.done(left_worker, {1}, {model_id{1}, 3, ""});
  p.done(right_worker, {2}, {model_id{1}, 3, ""});  // received before the node is up
  p.down(right_worker, {1});
  CHECK(p.complete(line));
  p.up(right_worker, {2});
  CHECK(p.complete(line));
  p.up(left_worker, {5});
  CHECK(p.missing(line) == left_worker);
  p.done(left_worker, {1}, {model_id{1}, 3, ""});  // of its old incarnation
  CHECK(p.missing(line) == left_worker);
}

TEST_CASE("a model without a worker is not deployed, but may be undeployed") {
  deployment_progress p(workers);
  const deployment gone{4, model_id{1}, deployment_state::undeployed, {}};
  p.up(gateway_node, {1});
  p.done(gateway_node, {1}, {model_id{1}, 3, ""});
  CHECK_FALSE(p.missing(line));
  CHECK_FALSE(p.complete(line));
  p.up(left_worker, {1});
  p.done(left_worker, {1}, {model_id{1}, 3, ""});
  CHECK(p.complete(line));
  p.down(left_worker, {1});
  CHECK_FALSE(p.complete(line));
  p.done(gateway_node, {1}, {model_id{1}, 4, ""});
  CHECK(p.complete(gone));
  p.forget_all();
  CHECK_FALSE(p.complete(line));
}

TEST_CASE("a move waits for a worker of the new domain") {
  deployment_progress p({{left_worker, 0}, {right_worker, 1}});
  auto moving = line;
  moving.joining = 1;
  p.up(left_worker, {1});
  p.done(left_worker, {1}, {model_id{1}, 3, ""});
  CHECK_FALSE(p.complete(moving));
  p.up(right_worker, {1});
  p.done(right_worker, {1}, {model_id{1}, 3, ""});
  CHECK(p.complete(moving));
}
