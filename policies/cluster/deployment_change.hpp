// Changes of the deployment log that commands ask for.
#pragma once
#include <cstdint>
#include <string>
#include <variant>

#include "messages/cluster/cluster.hpp"
#include "messages/deployment/deployment.hpp"
#include "policies/cluster/deployment_progress.hpp"
#include "policies/cluster/deployment_table.hpp"

namespace troupe {

struct model_to_deploy {
  model_spec definition;
};
struct model_to_redeploy {
  std::string name;
};
struct model_to_undeploy {
  std::string name;
};
struct model_to_move {
  std::string name;
  uint32_t domain = 0;  ///< of the cluster
};
using deployment_change = std::variant<model_to_deploy, model_to_redeploy, model_to_undeploy, model_to_move>;

/// Writes the change to the log, or refuses it (deployment_table). A model that some node is still releasing
/// is not deployed again before that has ended, because it may keep its id.
deployment_table::decision decide(const deployment_change& change, deployment_table& table,
                                  const deployment_progress& progress, const cluster_spec& cluster);

}  // namespace troupe
