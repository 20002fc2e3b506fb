// `troupe simulate`: runs a cluster file and a workload file in virtual time.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

struct simulate_options {
  std::string cluster_file;
  std::string workload_file;
  std::optional<uint64_t> seed;  ///< overrides the workload's
  uint64_t why = 0;              ///< print the decisions about this request instead; 0: none
  std::string trace_file;        ///< empty: no trace is written
  bool json = false;
};

/// Prints a table or one JSON document; with `why` the decisions about that request, like `troupe why`.
/// Returns 0, 1 if an invariant was violated or no queue remembers the request, or 2 if a file has problems.
int simulate(const simulate_options& options);

}  // namespace troupe
