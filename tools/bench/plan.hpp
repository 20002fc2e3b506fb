// `troupe bench plan`: the cost and the quality of multicast plans over random networks.
#pragma once
#include <cstdint>

namespace troupe {

struct bench_plan_options {
  uint32_t sources = 8;
  uint32_t targets = 64;
  uint32_t instances = 200;  ///< of each kind of network
  bool greedy = false;       ///< compare greedy chains with the best ones; needs 6 targets at most
  bool json = false;
};

/// Prints the time of a plan for each kind of network, and how much later its greedy chains finish than the
/// best ones, or one JSON document. Returns 0, or 2 for invalid options.
int bench_plan(const bench_plan_options& options);

}  // namespace troupe
