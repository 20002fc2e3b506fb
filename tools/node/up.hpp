// `troupe up FILE`: runs a process for each node of the file on this host, under one supervisor.
#pragma once
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct up_options {
  std::string file;  ///< each child process reads it again
  duration clock_offset{};
  bool json = false;
  bool verbose = false;
  bool restart = true;  ///< restart a node that dies
};

/// Starts the nodes of this host, prints the ready line of the first gateway once all are ready, and waits.
/// On SIGTERM or SIGINT the nodes drain in order: gateways, standbys, scheduler, workers. A node that has not
/// ended some seconds after its drain_timeout is killed; a second signal, a second or more after the first,
/// kills all at once. A node that dies
/// is restarted by the rules of policies/cluster/restart_policy.hpp, unless it was told to stop from outside;
/// the other nodes continue, also if it is given up. Returns the exit code: 1 if a node stayed down or was
/// killed.
int up(const cluster_spec& cluster, const up_options& options);

}  // namespace troupe
