// `troupe bench fabric`: the UCX fabric against UCX's own benchmark, or the TLS fabric against the UCX
// fabric. Two processes of each side, with the same transports, sizes and error handling, take turns.
#pragma once
#include <string>

namespace troupe {

struct bench_fabric_options {
  bool json = false;
  bool tls = false;     ///< the TLS fabric against UCX over TCP
  int repetitions = 7;  ///< the medians are reported
  /// For both sides, unless UCX_TLS is set: "tcp,self" measures TCP.
  std::string transports = "posix,cma,tcp,self";
};

/// Prints a table or, with `json`, {"rows": [{name, value, unit, reference, ratio}]}, where `reference` is
/// the other side's value and ratio = value / reference; rows about actors (lane.hpp) have no reference.
/// Returns 0, or 1 with a message if it could not measure. Forks: call it before any thread is started.
int bench_fabric(const bench_fabric_options& options);

}  // namespace troupe
