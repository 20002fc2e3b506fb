// `troupe bench route`: what a decision of the request router costs, with many engines and adapters.
#pragma once
#include <cstdint>
#include <string>

namespace troupe {

struct bench_route_options {
  uint32_t engines = 64;
  uint32_t adapters = 10'000;  ///< that every engine has
  uint32_t sequences = 32;     ///< that run on an engine at once
  double load = 0.95;          ///< of all places for sequences that are taken
  uint32_t requests = 200'000;
  std::string routing;  ///< empty: every one
  bool json = false;
};

/// A decision: a request ends, one comes and is placed. Prints microseconds a decision, or one JSON document.
/// Returns 0, or 2 if it makes no sense.
int bench_route(const bench_route_options& options);

}  // namespace troupe
