// A deployment log and its progress in a small cluster.
#pragma once
#include "messages/cluster/cluster.hpp"
#include "policies/cluster/deployment_progress.hpp"
#include "policies/cluster/deployment_table.hpp"
#include "tests/policies/cluster/three_nodes.hpp"

namespace troupe::test {

inline constexpr model_id first_model{0};

inline model_spec model_named(const char* name) {
  model_spec m;
  m.name = name;
  return m;
}

/// A scheduler and two workers, each in a domain of its own, all of them up. The model "a" of the cluster
/// file is in the domain of the left worker.
struct small_deployments {
  small_deployments() : table({model_named("a")}, 8), progress({{left_node, 0}, {right_node, 1}}) {
    for (const char* name : {"head", "left", "right"}) cluster.nodes.emplace_back().name = name;
    cluster.domains = {{"west", 0}, {"east", 0}};
    for (const auto n : {head_node, left_node, right_node}) progress.up(n, an_incarnation);
  }
  const deployment& line(model_id model = first_model) const { return table.at(model); }
  void apply_on(node_id n, model_id model = first_model, const std::string& problem = {}) {
    progress.done(n, an_incarnation, {model, line(model).revision, problem});
  }
  void apply_on_all(model_id model = first_model) {
    for (const auto n : {head_node, left_node, right_node}) apply_on(n, model);
  }

  cluster_spec cluster;
  deployment_table table;
  deployment_progress progress;
};

}  // namespace troupe::test
