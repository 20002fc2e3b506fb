// `troupe trace`: records what requests and batches of a running cluster go through, and writes it for
// Perfetto.
#pragma once
#include <string>

#include "messages/cluster/cluster.hpp"

namespace troupe {

struct cluster_trace_options {
  std::string file = "trace.json";
  duration length = 5s;
  uint64_t requests = 0;  ///< stop after so many; 0: after `length`
  uint32_t sample = 1;    ///< record every so manieth request
  bool json = false;      ///< say what was written as a JSON document
};

/// Returns 0, 1 if nothing could be recorded or written, 2 if the options make no sense.
int cluster_trace(const cluster_spec& cluster, const cluster_trace_options& options);

}  // namespace troupe
