#include "actors/operator/actor_name.hpp"

#include <doctest/doctest.h>

#include "actors/kinds/registry.hpp"

using namespace troupe;

namespace {

cluster_spec two_frontends() {
  cluster_spec c;
  const auto node = [&](const char* name, std::vector<node_role> roles) {
    node_spec n;
    n.name = name;
    n.roles = std::move(roles);
    c.nodes.push_back(std::move(n));
  };
  node("head", {node_role::gateway, node_role::scheduler});
  node("frontend", {node_role::gateway});
  node("left", {node_role::worker});
  c.slots = {{node_id{2}}, {node_id{2}}};
  return c;
}

std::string problem(std::string_view text) {
  static const auto cluster = two_frontends();
  const auto r = parse_actor_name(text, cluster, {[](std::string_view) { return std::nullopt; }, may_run_on});
  REQUIRE(std::holds_alternative<std::string>(r));
  return std::get<std::string>(r);
}

address named(std::string_view text) {
  static const auto cluster = two_frontends();
  const auto model = [](std::string_view called) {
    return called == "mlp" ? std::optional(model_id{4}) : std::nullopt;
  };
  const auto r = parse_actor_name(text, cluster, {model, may_run_on});
  REQUIRE(std::holds_alternative<address>(r));
  return std::get<address>(r);
}

}  // namespace

TEST_CASE("actor_name: a name gives its address, and an address its name") {
  const auto cluster = two_frontends();
  const address worker{node_id{2}, {}, role::gpu_worker, 1};
  CHECK(actor_name(cluster, worker) == "gpu_worker/1@left");
  CHECK(named("gpu_worker/1@left") == worker);
  CHECK(named("model_queue/mlp@head") == address{node_id{0}, {}, role::model_queue, 4});
  CHECK(named("gateway@frontend") == address{node_id{1}, {}, role::gateway, 0});
}

TEST_CASE("actor_name: the node may be left out if only one has the actor") {
  CHECK(named("rank_arbiter") == address{node_id{0}, {}, role::rank_arbiter, 0});
  CHECK(named("gpu_worker/1").node == node_id{2});
  CHECK(named("model_queue/mlp").node == node_id{0});
  CHECK(problem("gateway") ==
        "several nodes have this actor; name one of gateway/0@head, gateway/0@frontend");
}

TEST_CASE("actor_name: of model queues and rank arbiters the leader's is meant") {
  auto cluster = two_frontends();
  cluster.nodes[1].roles = {node_role::standby};
  cluster.llms.resize(1);
  const auto model = [](std::string_view) { return std::optional(model_id{4}); };
  node_id leader{1};
  const auto named_there = [&](std::string_view text) {
    return parse_actor_name(text, cluster, {model, may_run_on, [&] { return leader; }});
  };
  CHECK(std::get<address>(named_there("model_queue/mlp")) == address{node_id{1}, {}, role::model_queue, 4});
  CHECK(std::get<address>(named_there("rank_arbiter")).node == node_id{1});
  CHECK(std::get<address>(named_there("rank_arbiter@head")).node == node_id{0});
  CHECK(std::get<std::string>(named_there("llm_router")).starts_with("several nodes have this actor"));
  CHECK(std::get<std::string>(named_there("metrics")).starts_with("several nodes have this actor"));
  leader = node_id{0};
  CHECK(std::get<address>(named_there("model_queue/mlp")).node == node_id{0});
  const auto r = parse_actor_name("model_queue/mlp", cluster, {model, may_run_on});
  CHECK(std::get<std::string>(r).starts_with("several nodes have this actor"));
}

TEST_CASE("actor_name: a wrong name is reported with the nearest known one") {
  CHECK(problem("gpu_wroker/1@left") == "unknown kind of actor 'gpu_wroker'; did you mean 'gpu_worker'?");
  CHECK(problem("gpu_worker/1@lift") == "the cluster has no node 'lift'; did you mean 'left'?");
  CHECK(problem("gpu_worker/mlp@left").starts_with("'mlp' is not a number"));
  CHECK(problem("model_queue/nix").starts_with("'nix' is not a model or a number"));
  CHECK(problem("gpu_worker/7").starts_with("no node of the cluster has an actor 'gpu_worker/7'"));
}
