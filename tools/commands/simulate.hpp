// `troupe simulate`: a cluster file and a workload file, in virtual time.
#pragma once
#include <cstdint>
#include <optional>
#include <string>

namespace troupe {

struct simulate_options {
  std::string cluster_file;
  std::string workload_file;
  std::optional<uint64_t> seed;  ///< instead of the workload's
  uint64_t why = 0;              ///< the id of a request whose decisions are told instead; 0: none
  std::string trace_file;        ///< empty: no trace is written
  bool json = false;
};

/// Prints a table or one JSON document; with `why` what was decided about that request, as `troupe why` does.
/// Returns 0, 1 if an invariant was broken or no queue knew the request, or 2 if a file is not right.
int simulate(const simulate_options& options);

}  // namespace troupe
