// Replies to commands that change the deployment log.
#pragma once
#include <string>
#include <utility>

#include "messages/cluster/cluster.hpp"
#include "messages/deployment/deployment.hpp"
#include "policies/cluster/deployment_progress.hpp"

namespace troupe {

inline change_reply refused_change(std::string why) { return {0, false, false, 0, std::move(why)}; }

/// Status of a line of the log. `ok`: no node has failed to apply the line. `complete`: every node has
/// applied it, and no further line follows from it. `detail` names a node that is missing or has failed. The
/// token is 0.
change_reply status_of(const deployment& line, const deployment_progress& progress,
                       const cluster_spec& cluster);

}  // namespace troupe
