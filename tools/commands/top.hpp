// `troupe top`: an overview of a running cluster, updated every second.
#pragma once
#include "messages/cluster/cluster.hpp"

namespace troupe {

struct top_options {
  duration interval = 1s;
  bool once = false;  ///< print one page and exit; implied if standard output is not a terminal
  bool json = false;  ///< documents instead of pages, one a line
};

/// Runs until `q` or Ctrl-C. Returns 0, or 1 if (once) no node answered.
int top(const cluster_spec& cluster, const top_options& options);

}  // namespace troupe
