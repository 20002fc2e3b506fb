#include "policies/cluster/deployment_change.hpp"

#include "policies/cluster/deployment_status.hpp"

namespace troupe {
namespace {

/// Writes changes, by their kind.
struct writer {
  deployment_table& table;
  const deployment_progress& progress;
  const cluster_spec& cluster;

  deployment_table::decision operator()(const model_to_deploy& c) const {
    const auto problem = still_released(c.definition.name);
    return problem.empty() ? table.deploy(c.definition) : refused(problem);
  }
  deployment_table::decision operator()(const model_to_redeploy& c) const {
    const auto problem = still_released(c.name);
    return problem.empty() ? table.redeploy(c.name) : refused(problem);
  }
  deployment_table::decision operator()(const model_to_undeploy& c) const { return table.undeploy(c.name); }
  deployment_table::decision operator()(const model_to_move& c) const { return table.move(c.name, c.domain); }

  std::string still_released(const std::string& name) const {
    const auto* known = table.find(name);
    const bool released =
        known == nullptr || known->wanted != deployment_state::undeployed || progress.complete(*known);
    return released ? "" : status_of(*known, progress, cluster).detail + "; try again";
  }
  static deployment_table::decision refused(const std::string& why) { return {nullptr, false, why}; }
};

}  // namespace

deployment_table::decision decide(const deployment_change& change, deployment_table& table,
                                  const deployment_progress& progress, const cluster_spec& cluster) {
  return std::visit(writer{table, progress, cluster}, change);
}

}  // namespace troupe
