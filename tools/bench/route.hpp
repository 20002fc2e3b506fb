// `troupe bench route`: the cost of a decision of the request router, with many engines and adapters.
#pragma once
#include <cstdint>
#include <string>

namespace troupe {

struct bench_route_options {
  uint32_t engines = 64;
  uint32_t adapters = 10'000;   ///< on every engine
  uint32_t sequences = 32;      ///< running on an engine at once
  double load = 0.95;           ///< fraction of the sequence places that are taken
  uint32_t blocks = 1'000'000;  ///< in the prefix caches of all engines together, for `prefix`
  uint32_t prompt_blocks = 64;  ///< of a request
  uint32_t requests = 200'000;
  std::string routing;  ///< empty: every policy
  bool json = false;
};

/// A decision: a request ends, another arrives and is placed. Prints microseconds a decision, or one JSON
/// document. Returns 0, or 2 for invalid options.
int bench_route(const bench_route_options& options);

}  // namespace troupe
