// One node of a cluster, for real: a process with its own clock, fabric, endpoints and devices. What `troupe
// up
// --node` runs.
#pragma once
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct serve_options {
  std::string node;         ///< its name in the file
  bool json = false;        ///< the ready line as a JSON document
  duration clock_offset{};  ///< for tests: start nodes hours apart
  uint32_t restarts = 0;    ///< how often the supervisor has restarted this node
  std::string last_end{};   ///< how it ended before the last of them
};

/// Serves until SIGTERM or SIGINT, then drains. Prints one line on standard output when the cluster serves:
/// "troupe: ready http://HOST:PORT" (a node without gateway: "troupe: ready NAME"). Returns the exit code.
int serve_node(const cluster_spec& cluster, const serve_options& options);

}  // namespace troupe
