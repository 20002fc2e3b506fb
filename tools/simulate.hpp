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
  std::string trace_file;        ///< empty: no trace is written
  bool json = false;
};

/// Prints a table or one JSON document. Returns 0, 1 if an invariant was broken, or 2 if a file is not right.
int simulate(const simulate_options& options);

}  // namespace troupe
