// `troupe top`: a running cluster at a glance, every second anew.
#pragma once
#include "messages/cluster/cluster.hpp"

namespace troupe {

struct top_options {
  duration interval = 1s;
  bool once = false;  ///< one page and out; also when standard output is no terminal
  bool json = false;  ///< documents instead of pages, one a line
};

/// Until `q` or Ctrl-C. Returns 0, or 1 if (once) no node answered.
int top(const cluster_spec& cluster, const top_options& options);

}  // namespace troupe
