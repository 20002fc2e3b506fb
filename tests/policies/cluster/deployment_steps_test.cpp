#include "policies/cluster/deployment_steps.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/policies/cluster/small_deployments.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("deployment_steps: a retired model is undeployed once its last request has ended") {
  small_deployments d;
  CHECK_FALSE(has_steps_left(d.table));
  d.table.undeploy("a");
  CHECK(has_steps_left(d.table));
  CHECK(take_steps(d.table, d.progress).empty());
  d.apply_on_all();
  const auto steps = take_steps(d.table, d.progress);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].line.wanted == deployment_state::undeployed);
  CHECK(steps[0].line == d.line());
  CHECK_FALSE(has_steps_left(d.table));
}

TEST_CASE("deployment_steps: a move takes its next step once every node has applied the current one") {
  small_deployments d;
  d.table.move("a", 1);
  CHECK(has_steps_left(d.table));
  CHECK(take_steps(d.table, d.progress).empty());
  d.apply_on_all();
  auto steps = take_steps(d.table, d.progress);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].line.domain == 1);
  CHECK(steps[0].line.leaving == 0);
  CHECK_FALSE(steps[0].failed);
  CHECK(take_steps(d.table, d.progress).empty());
  d.apply_on_all();
  steps = take_steps(d.table, d.progress);
  REQUIRE(steps.size() == 1);
  CHECK_FALSE(steps[0].line.moves());
  CHECK_FALSE(has_steps_left(d.table));
}

TEST_CASE("deployment_steps: a model stays if the new domain cannot load it") {
  small_deployments d;
  d.table.move("a", 1);
  d.apply_on(right_node, first_model, "too big");
  const auto steps = take_steps(d.table, d.progress);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].line.domain == 0);
  CHECK(steps[0].line.joining == no_domain);
  REQUIRE(steps[0].failed);
  CHECK(steps[0].failed->domain == 1);
  CHECK(steps[0].failed->node == right_node);
  CHECK(steps[0].failed->reason == "too big");
}

TEST_CASE("deployment_steps: a model does not come back because the old domain fails to release it") {
  small_deployments d;
  d.table.move("a", 1);
  d.table.moved_on(first_model);
  d.apply_on(left_node, first_model, "lost");
  CHECK(take_steps(d.table, d.progress).empty());
  CHECK(has_steps_left(d.table));
}

TEST_CASE("deployment_steps: retirements come before moves") {
  small_deployments d;
  d.table.deploy(model_named("b"));
  d.table.move("a", 1);
  d.table.undeploy("b");
  d.apply_on_all(model_id{0});
  d.apply_on_all(model_id{1});
  const auto steps = take_steps(d.table, d.progress);
  REQUIRE(steps.size() == 2);
  CHECK(steps[0].line.model == model_id{1});
  CHECK(steps[1].line.model == model_id{0});
  CHECK(steps[0].line.revision < steps[1].line.revision);
}

TEST_CASE(
    "deployment_steps: a definition that the log has no room for is forgotten once its model is released") {
  small_deployments d;  // keeps eight
  for (uint32_t i = 1; i <= 9; ++i) {
    const auto name = "m" + std::to_string(i);
    d.table.deploy(model_named(name.c_str()));
    d.table.undeploy(name);
    CHECK_FALSE(d.table.forgettable());
    d.table.retired(model_id{i});
  }
  CHECK(has_steps_left(d.table));
  CHECK(take_steps(d.table, d.progress).empty());
  d.apply_on_all(model_id{1});
  const auto steps = take_steps(d.table, d.progress);
  REQUIRE(steps.size() == 1);
  CHECK(steps[0].line.model == model_id{1});
  CHECK(steps[0].line.definition.name.empty());
  CHECK_FALSE(has_steps_left(d.table));
}
