// `troupe bench chain`: a multicast chain of processes over UCX against UCX's own benchmark, and against the
// formula of chains.
#pragma once
#include <cstdint>
#include <string>

namespace troupe {

struct bench_chain_options {
  uint32_t hops = 3;
  uint64_t bytes = uint64_t{256} << 20;  ///< of the weights: more than a cache holds
  uint64_t chunk_bytes = uint64_t{4} << 20;
  uint32_t window = 4;
  int repetitions = 7;  ///< the medians are reported
  /// For both sides, unless UCX_TLS is set: "tcp,self" measures TCP.
  std::string transports = "posix,cma,tcp,self";
  bool json = false;
};

/// Prints a table or, with `json`, {"rows": [{name, value, unit, reference, ratio}]}: the bandwidth of one
/// hop beside ucx_perftest; the finish of a chain beside `chain_time` with the bandwidth of as many runs of
/// ucx_perftest at once; the speed of hashing. Returns 0, or 1 with a message if it could not measure. Forks:
/// call it before any thread is started.
int bench_chain(const bench_chain_options& options);

}  // namespace troupe
