// `troupe trace`: records the stations of requests and batches of a running cluster, and writes them for
// Perfetto.
#pragma once
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct cluster_trace_options {
  std::string file = "trace.json";
  duration length = 5s;
  uint64_t requests = 0;  ///< stop after so many; 0: after `length`
  uint32_t sample = 1;    ///< record every n-th request
  bool json = false;      ///< report the written file as a JSON document
};

/// Returns 0, 1 if nothing could be recorded or written, 2 for invalid options.
int cluster_trace(const cluster_spec& cluster, const cluster_trace_options& options);

}  // namespace troupe
