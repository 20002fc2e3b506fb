// `troupe deploy`, `undeploy`, `migrate` and `drain`: change the models of a running cluster and their nodes.
#pragma once
#include <string>

#include "messages/cluster/cluster.hpp"
#include "tools/commands/model_options.hpp"

namespace troupe {

struct change_options {
  double wait_s = 0;  ///< 0: return once the change is accepted
  bool json = false;
};

/// All return 0 if the change was accepted (with a wait: done), 1 if not, 2 for bad input, and print one
/// line, or one JSON document.
int deploy_model(const cluster_spec& cluster, const model_options& model, const change_options& options);
int undeploy_model(const cluster_spec& cluster, const std::string& model, const change_options& options);
/// Moves the model to another scheduling domain.
int migrate_model(const cluster_spec& cluster, const std::string& model, const std::string& domain,
                  const change_options& options);
int drain_one(const cluster_spec& cluster, const std::string& node, const change_options& options);

}  // namespace troupe
