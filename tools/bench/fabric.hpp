// `troupe bench fabric`: what the UCX fabric makes of the wire, against UCX's own benchmark. Two processes of
// this program, and two of ucx_perftest with the same transports, sizes and error handling, taking turns.
#pragma once
#include <string>

namespace troupe {

struct bench_fabric_options {
  bool json = false;
  int repetitions = 7;  ///< the medians are reported
  /// For both, unless UCX_TLS is set: "tcp,self" measures TCP.
  std::string transports = "posix,cma,tcp,self";
};

/// Prints a table or, with `json`, {"rows": [{name, value, unit, reference, ratio}]}, where `reference` is
/// ucx_perftest's figure and ratio = value / reference; of actors (lane.hpp) it has none. Returns 0, or
/// 1 with a message if it could not measure. Forks: call it before any thread has been started.
int bench_fabric(const bench_fabric_options& options);

}  // namespace troupe
