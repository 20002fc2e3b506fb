// Lines of the deployment log that follow from earlier lines without a command.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "messages/deployment/deployment.hpp"
#include "policies/cluster/deployment_progress.hpp"
#include "policies/cluster/deployment_table.hpp"

namespace troupe {

struct deployment_step {
  /// The domain that a model could not join, and the first node that could not load it.
  struct failed_move {
    uint32_t domain = no_domain;
    node_id node;
    std::string reason;
  };
  deployment line;  ///< as the log has it now
  std::optional<failed_move> failed;
};

/// A retirement or a move is under way, or the log has more definitions of undeployed models than it keeps.
bool has_steps_left(const deployment_table& table);

/// Writes the next line of every retirement and every move whose current line is complete, and of every move
/// to a domain that cannot load the model. Retirements come first; otherwise by model. Last, one definition
/// is forgotten that the log has no room for.
std::vector<deployment_step> take_steps(deployment_table& table, const deployment_progress& progress);

}  // namespace troupe
