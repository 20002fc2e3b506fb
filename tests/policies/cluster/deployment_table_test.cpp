#include "policies/cluster/deployment_table.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

model_spec model(const char* name, uint32_t max_batch = 8) {
  model_spec m;
  m.name = name;
  m.max_batch = max_batch;
  return m;
}

deployment_table table_of_two(size_t max = 10) { return deployment_table({model("a"), model("b")}, max); }

}  // namespace

TEST_CASE("a new model gets the next id, and every change the next revision") {
  auto table = table_of_two();
  CHECK(table.changes().models.empty());
  const auto c = table.deploy(model("c"));
  REQUIRE(c.changed);
  CHECK(c.line->model == model_id{2});
  CHECK(c.line->revision == 1);
  const auto gone = table.undeploy("a");
  REQUIRE(gone.changed);
  CHECK(gone.line->model == model_id{0});
  CHECK(gone.line->revision == 2);
  CHECK(gone.line->wanted == deployment_state::retiring);
  CHECK(table.retired(model_id{0}).revision == 3);
  CHECK(table.at(model_id{0}).wanted == deployment_state::undeployed);
  CHECK(table.changes().models.size() == 2);
}

TEST_CASE("a change without an effect is no change") {
  auto table = table_of_two();
  const auto again = table.deploy(model("b"));
  CHECK(again.line == table.find("b"));
  CHECK_FALSE(again.changed);
  table.undeploy("b");
  CHECK_FALSE(table.undeploy("b").changed);
  table.retired(model_id{1});
  const auto still = table.undeploy("b");
  CHECK(still.line->wanted == deployment_state::undeployed);
  CHECK_FALSE(still.changed);
}

TEST_CASE("a model that comes back as it was keeps its id, a changed one gets a new id") {
  auto table = table_of_two();
  table.undeploy("a");
  table.retired(model_id{0});
  CHECK(table.redeploy("a").line->model == model_id{0});
  table.undeploy("a");
  table.retired(model_id{0});
  const auto changed = table.deploy(model("a", 16));
  CHECK(changed.line->model == model_id{2});
  CHECK(table.find("a") == changed.line);
  CHECK(table.redeploy("a").line->model == model_id{2});
}

TEST_CASE("commands that cannot be done are refused in one sentence") {
  auto table = table_of_two(2);
  CHECK(table.deploy(model("a", 9)).why ==
        "model 'a' is deployed with another definition; undeploy it first");
  CHECK(table.undeploy("x").why == "no model 'x' is deployed");
  CHECK(table.redeploy("x").why == "no model 'x' has been deployed");
  CHECK(
      table.deploy(model("c")).why ==
      "2 models are deployed, as many as models in the [limits] of the cluster file allows; undeploy one, or "
      "raise it");
  table.undeploy("a");
  CHECK(table.deploy(model("a")).why == "model 'a' is still being undeployed; try again");
}

TEST_CASE(
    "any number of models may be deployed one after the other, and the log forgets definitions, not ids") {
  auto table = table_of_two(3);
  for (int i = 0; i < 2'000; ++i) {
    const auto name = "m" + std::to_string(i);
    const auto* line = table.deploy(model(name.c_str())).line;
    REQUIRE(line != nullptr);
    REQUIRE(line->model == model_id{static_cast<uint32_t>(2 + i)});
    table.undeploy(name);
    table.retired(model_id{static_cast<uint32_t>(2 + i)});
    if (const auto oldest = table.forgettable()) {
      REQUIRE(*oldest == model_id{static_cast<uint32_t>(2 + i - 3)});
      table.forget(*oldest);
    }
    CHECK_FALSE(table.forgettable());
  }
  CHECK(table.find("m1999") != nullptr);
  CHECK(table.find("m1997") != nullptr);
  CHECK(table.redeploy("m1996").why == "no model 'm1996' has been deployed");
  CHECK(table.redeploy("").why == "no model '' has been deployed");  // not a forgotten line
  CHECK(table.undeploy("").why == "no model '' is deployed");
  CHECK(table.deploy(model("m1996")).line->model == model_id{2'002});
}

TEST_CASE("a node that comes late does not bring a forgotten model back") {
  auto table = table_of_two(1);
  table.undeploy("a");
  table.retired(model_id{0});
  table.undeploy("b");
  table.retired(model_id{1});
  table.deploy(model("c"));
  auto late = table_of_two(1);
  late.merge(table.changes(), true);
  for (const auto* next : {"d", "e"}) {
    table.undeploy(table.lines().rbegin()->second.definition.name);
    table.retired(table.lines().rbegin()->first);
    REQUIRE(table.deploy(model(next)).changed);
  }
  REQUIRE(table.forgettable() == model_id{2});
  table.forget(model_id{2});
  CHECK(table.merge(late.changes(), false).empty());
  CHECK_FALSE(table.find("c"));
  late.merge(table.changes(), false);
  CHECK_FALSE(late.find("c"));
}

TEST_CASE("a restarted scheduler recovers the log before it assigns revisions") {
  auto before = table_of_two();
  before.deploy(model("c"));
  before.undeploy("b");
  auto fresh = table_of_two();
  CHECK(fresh.merge(before.changes(), false) == std::vector{model_id{1}, model_id{2}});
  CHECK(fresh.merge(before.changes(), false).empty());
  CHECK(fresh.lines() == before.lines());
  const auto d = fresh.deploy(model("d"));
  CHECK(d.line->model == model_id{3});
  CHECK(d.line->revision == 3);
}

TEST_CASE("the higher revision counts, and of equal ones the scheduler's") {
  auto one = table_of_two(), other = table_of_two();
  one.deploy(model("c"));
  other.deploy(model("d"));  // the same id and revision, from a scheduler that did not know the first
  CHECK(one.merge(other.changes(), false).empty());
  CHECK(one.merge(other.changes(), true) == std::vector{model_id{2}});
  CHECK(one.at(model_id{2}).definition.name == "d");
  other.undeploy("d");
  CHECK(one.merge(other.changes(), false).size() == 1);
  CHECK(one.at(model_id{2}).wanted == deployment_state::retiring);
}

TEST_CASE("a model moves to another domain in three lines") {
  auto table = table_of_two();
  const auto begun = table.move("a", 1);
  REQUIRE(begun.changed);
  CHECK(begun.line->domain == 0);
  CHECK(begun.line->held_in(0));
  CHECK(begun.line->held_in(1));
  CHECK_FALSE(begun.line->held_in(2));
  CHECK_FALSE(table.move("a", 1).changed);
  CHECK(table.move("a", 2).why == "model 'a' is still being moved; try again");
  const auto over = table.moved_on(model_id{0});
  CHECK(over.domain == 1);
  CHECK(over.leaving == 0);
  CHECK(over.held_in(0));
  const auto done = table.moved_on(model_id{0});
  CHECK_FALSE(done.moves());
  CHECK_FALSE(done.held_in(0));
  CHECK(done.revision == 3);
  CHECK_FALSE(table.move("a", 1).changed);
}

TEST_CASE("a failed move keeps the model's domain, and a redeployment uses the domain of the last move") {
  auto table = table_of_two();
  table.move("a", 1);
  const auto stays = table.stay(model_id{0});
  CHECK(stays.domain == 0);
  CHECK_FALSE(stays.held_in(1));
  table.move("a", 1);
  table.moved_on(model_id{0});
  table.undeploy("a");
  const auto gone = table.retired(model_id{0});
  CHECK_FALSE(gone.moves());
  CHECK_FALSE(gone.held_in(0));
  CHECK(table.move("a", 0).why == "no model 'a' is deployed");
  CHECK(table.redeploy("a").line->domain == 1);
}
