// `troupe bench fabric`: the UCX fabric against UCX's own benchmark. Two processes of this program and two of
// ucx_perftest with the same transports, sizes and error handling take turns.
#pragma once
#include <string>

namespace troupe {

struct bench_fabric_options {
  bool json = false;
  int repetitions = 7;  ///< the medians are reported
  /// For both sides, unless UCX_TLS is set: "tcp,self" measures TCP.
  std::string transports = "posix,cma,tcp,self";
};

/// Prints a table or, with `json`, {"rows": [{name, value, unit, reference, ratio}]}, where `reference` is
/// ucx_perftest's value and ratio = value / reference; rows about actors (lane.hpp) have no reference.
/// Returns 0, or 1 with a message if it could not measure. Forks: call it before any thread is started.
int bench_fabric(const bench_fabric_options& options);

}  // namespace troupe
