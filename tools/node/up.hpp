// `troupe up FILE`: one process for each node of the file that is on this host, under one supervisor.
#pragma once
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct up_options {
  std::string file;  ///< the children read it again, and compare its hash
  duration clock_offset{};
  bool json = false;
  bool verbose = false;
  bool restart = true;  ///< a node that dies is started again
};

/// Starts the nodes of this host, prints the ready line of the first gateway once all are ready, and waits.
/// On SIGTERM or SIGINT drains: gateways first, then schedulers, then workers, so that nothing accepted is
/// lost. A node that has not ended a while after its drain_timeout is killed; on a second SIGTERM or SIGINT
/// all are. A node that dies is reported and started again as policies/cluster/restart_policy.hpp says,
/// unless somebody had told it to stop; the others go on, also when it dies too often. Returns the exit code:
/// 1 if a node stayed down, or was killed.
int up(const cluster_spec& cluster, const up_options& options);

}  // namespace troupe
