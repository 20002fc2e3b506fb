#include "policies/cluster/deployment_change.hpp"

#include <doctest/doctest.h>

#include "tests/policies/cluster/small_deployments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

deployment_table::decision decide_on(small_deployments& d, const deployment_change& c) {
  return decide(c, d.table, d.progress, d.cluster);
}

}  // namespace

TEST_CASE("deployment_change: each kind writes its line") {
  small_deployments d;
  const auto deployed = decide_on(d, model_to_deploy{model_named("b")});
  REQUIRE(deployed.line != nullptr);
  CHECK(deployed.line->model == model_id{1});
  CHECK(deployed.line->revision == 1);
  const auto moved = decide_on(d, model_to_move{"a", 1});
  REQUIRE(moved.line != nullptr);
  CHECK(moved.line->joining == 1);
  const auto retired = decide_on(d, model_to_undeploy{"b"});
  REQUIRE(retired.line != nullptr);
  CHECK(retired.line->wanted == deployment_state::retiring);
  CHECK(decide_on(d, model_to_undeploy{"c"}).line == nullptr);
}

TEST_CASE("deployment_change: a model is deployed again once every node has released it") {
  small_deployments d;
  decide_on(d, model_to_undeploy{"a"});
  d.table.retired(first_model);
  d.apply_on(head_node);
  for (const auto& again : {deployment_change{model_to_redeploy{"a"}}, {model_to_deploy{model_named("a")}}}) {
    const auto refused = decide_on(d, again);
    CHECK(refused.line == nullptr);
    CHECK(refused.why == "model 'a' is being released by node 'left'; try again");
  }
  d.apply_on_all();
  const auto deployed = decide_on(d, model_to_redeploy{"a"});
  REQUIRE(deployed.line != nullptr);
  CHECK(deployed.line->model == first_model);
  CHECK(deployed.line->wanted == deployment_state::deployed);
}
