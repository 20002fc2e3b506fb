#include "actors/cluster/own_deployments.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

constexpr node_id own_gateway{0}, own_worker{1};
constexpr slot_id first_slot{0}, second_slot{1};
constexpr model_id the_model{0};

/// A gateway, and a worker with two slots.
cluster_spec gateway_and_worker() {
  cluster_spec c;
  c.nodes.resize(2);
  c.nodes[own_gateway.value].roles = {node_role::gateway};
  c.nodes[own_worker.value].roles = {node_role::worker};
  c.slots = {{own_worker}, {own_worker}};
  return c;
}

deployment line(uint64_t revision, deployment_state wanted = deployment_state::deployed) {
  return {revision, the_model, wanted, {}};
}

load_outcome loaded(slot_id slot, uint64_t revision) {
  return {slot, the_model, revision, loaded_model{}, {}};
}

model_idle idle(role who, uint32_t index, uint64_t revision) {
  return {the_model, revision, {own_worker, {1}, who, index}};
}

}  // namespace

TEST_CASE("own_deployments: a worker's part is done when all its slots have loaded the model") {
  own_deployments own(gateway_and_worker(), own_worker);
  const auto begun = own.begin(line(3));
  CHECK(begun.load);
  CHECK_FALSE(begun.done);
  CHECK(own.loading(the_model));
  auto next = own.loaded(loaded(first_slot, 3), line(3));
  CHECK(next.changed == std::vector{first_slot});
  CHECK_FALSE(next.done);
  next = own.loaded(loaded(second_slot, 3), line(3));
  CHECK(next.done == deployment_part{the_model, 3, ""});
  CHECK_FALSE(own.loading());
  CHECK(own.models_of(second_slot).size() == 1);
  REQUIRE(own.report().parts.size() == 1);
  CHECK(own.report().parts[0].revision == 3);
}

TEST_CASE("own_deployments: a slot that cannot load the model ends the part with a problem") {
  own_deployments own(gateway_and_worker(), own_worker);
  own.begin(line(3));
  own.loaded(loaded(first_slot, 3), line(3));
  const auto next = own.loaded({second_slot, the_model, 3, {}, "too big"}, line(3));
  CHECK(next.done == deployment_part{the_model, 3, "too big"});
  CHECK(own.models_of(second_slot).empty());
}

TEST_CASE("own_deployments: a model loaded for an older line is not offered") {
  own_deployments own(gateway_and_worker(), own_worker);
  own.begin(line(3));
  const auto gone = line(4, deployment_state::undeployed);
  own.loaded(loaded(first_slot, 3), gone);
  CHECK(own.loading(the_model));
  CHECK_FALSE(own.loaded(loaded(second_slot, 3), gone).done);
  CHECK_FALSE(own.loading(the_model));
  CHECK(own.models_of(first_slot).empty());
}

TEST_CASE("own_deployments: an undeployment is complete when the workers have released the model") {
  own_deployments own(gateway_and_worker(), own_worker);
  own.begin(line(3));
  for (const auto slot : {first_slot, second_slot}) own.loaded(loaded(slot, 3), line(3));
  const auto begun = own.begin(line(4, deployment_state::undeployed));
  CHECK(begun.changed == std::vector{first_slot, second_slot});
  CHECK(own.models_of(first_slot).empty());
  CHECK_FALSE(own.idle(idle(role::gpu_worker, 0, 3)));  // of the line before
  CHECK_FALSE(own.idle(idle(role::gpu_worker, 0, 4)));
  CHECK(own.idle(idle(role::gpu_worker, 1, 4)) == deployment_part{the_model, 4, ""});
  CHECK_FALSE(own.idle(idle(role::gpu_worker, 1, 4)));  // no second time
}

TEST_CASE("own_deployments: only a gateway has a part in a retirement, only workers in the rest") {
  own_deployments gateway(gateway_and_worker(), own_gateway), worker(gateway_and_worker(), own_worker);
  CHECK(gateway.begin(line(3)).done);
  CHECK_FALSE(gateway.begin(line(4, deployment_state::retiring)).done);
  CHECK(gateway.idle(idle(role::gateway, 0, 4)) == deployment_part{the_model, 4, ""});
  CHECK(gateway.begin(line(5, deployment_state::undeployed)).done);
  CHECK(worker.begin(line(4, deployment_state::retiring)).done);
}

TEST_CASE("own_deployments: a loaded model is offered at once, during other loads") {
  own_deployments own(gateway_and_worker(), own_worker);
  own.begin(line(3));
  const deployment other{4, model_id{1}, deployment_state::deployed, {}};
  own.begin(other);
  CHECK(own.loaded(loaded(first_slot, 3), line(3)).changed == std::vector{first_slot});
  CHECK(own.models_of(first_slot).size() == 1);
}

TEST_CASE("own_deployments: models of the cluster file are offered together") {
  own_deployments own(gateway_and_worker(), own_worker);
  own.begin(line(0));
  const deployment other{0, model_id{1}, deployment_state::deployed, {}};
  own.begin(other);
  CHECK(own.loaded(loaded(first_slot, 0), line(0)).changed.empty());
  CHECK(own.loaded({first_slot, model_id{1}, 0, loaded_model{}, {}}, other).changed ==
        std::vector{first_slot});
  CHECK(own.models_of(first_slot).size() == 2);
}

TEST_CASE("own_deployments: a model with a new definition is not offered until it is loaded again") {
  own_deployments own(gateway_and_worker(), own_worker);
  own.begin(line(3));
  for (const auto slot : {first_slot, second_slot}) own.loaded(loaded(slot, 3), line(3));
  const auto same = own.begin(line(4));
  CHECK(same.changed.empty());
  CHECK_FALSE(same.load);  // it has it
  CHECK(same.done == deployment_part{the_model, 4, ""});
  auto other = line(5);
  other.definition.max_batch = 8;
  CHECK(own.begin(other).changed == std::vector{first_slot, second_slot});
  CHECK(own.models_of(first_slot).empty());
  own.loaded(loaded(first_slot, 5), other);
  CHECK(own.models_of(first_slot).at(0).max_batch == 8);
}

namespace {

/// Two domains with a worker each, and the scheduler.
cluster_spec two_domains() {
  cluster_spec c;
  c.domains.resize(2);
  c.nodes.resize(3);
  c.nodes[0].roles = {node_role::scheduler};
  for (uint32_t i : {1, 2}) {
    c.nodes[i].roles = {node_role::worker};
    c.nodes[i].domain = i - 1;
    c.slots.push_back({node_id{i}});
  }
  return c;
}

deployment line_in(uint64_t revision, uint32_t domain, uint32_t joining = no_domain,
                   uint32_t leaving = no_domain) {
  return {revision, the_model, deployment_state::deployed, {}, domain, joining, leaving};
}

}  // namespace

TEST_CASE("own_deployments: a worker loads the models of its own domain only") {
  own_deployments old_node(two_domains(), node_id{1}), new_node(two_domains(), node_id{2});
  CHECK(old_node.begin(line_in(0, 0)).load);
  const auto elsewhere = new_node.begin(line_in(0, 0));
  CHECK_FALSE(elsewhere.load);
  CHECK_FALSE(elsewhere.done);  // until its worker reports the model idle
  CHECK(new_node.idle({the_model, 0, {node_id{2}, {1}, role::gpu_worker, 1}}));
}

TEST_CASE(
    "own_deployments: a move loads at the new domain, waits for the queue, and releases at the old one") {
  own_deployments old_node(two_domains(), node_id{1}), new_node(two_domains(), node_id{2}),
      scheduler(two_domains(), node_id{0});
  old_node.begin(line_in(0, 0));
  old_node.loaded(loaded(slot_id{0}, 0), line_in(0, 0));
  new_node.begin(line_in(0, 0));
  CHECK(scheduler.begin(line_in(0, 0)).done);

  CHECK(old_node.begin(line_in(1, 0, 1)).done);
  CHECK(scheduler.begin(line_in(1, 0, 1)).done);
  CHECK(new_node.begin(line_in(1, 0, 1)).load);
  CHECK(new_node.loaded(loaded(slot_id{1}, 1), line_in(1, 0, 1)).done);

  CHECK(old_node.begin(line_in(2, 1, no_domain, 0)).done);
  CHECK(old_node.models_of(slot_id{0}).size() == 1);
  const auto stays = new_node.begin(line_in(2, 1, no_domain, 0));
  CHECK(stays.done);
  CHECK_FALSE(stays.load);
  CHECK_FALSE(scheduler.begin(line_in(2, 1, no_domain, 0)).done);
  CHECK(scheduler.idle({the_model, 2, {node_id{0}, {1}, role::model_queue, 0}}));

  const auto gone = old_node.begin(line_in(3, 1));
  CHECK(gone.changed == std::vector{slot_id{0}});
  CHECK_FALSE(gone.done);
  CHECK(old_node.models_of(slot_id{0}).empty());
  CHECK(new_node.begin(line_in(3, 1)).done);
  CHECK(scheduler.begin(line_in(3, 1)).done);
}
