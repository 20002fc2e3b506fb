// `troupe up --node`: one real node of a cluster, a process with its own clock, fabric, control endpoint and
// devices.
#pragma once
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct serve_options {
  std::string node;            ///< its name in the file
  bool json = false;           ///< print the ready line as a JSON document
  duration clock_offset{};     ///< for tests: the difference of this node's clock
  uint32_t restarts = 0;       ///< restarts of this node by the supervisor
  std::string last_end{};      ///< how the process before the last restart ended
  std::string before_ready{};  ///< lines to print before the ready line
};

/// Serves until SIGTERM or SIGINT, then drains. When the cluster is ready, prints one line on standard
/// output: "troupe: ready http://HOST:PORT" (on a node without gateway, "troupe: ready NAME"). Returns the
/// exit code.
int serve_node(const cluster_spec& file, const serve_options& options);

}  // namespace troupe
