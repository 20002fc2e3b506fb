// Simulates clusters whose language models scale, in a storm of faults, once for each seed:
//
//   scaling_storm FIRST LAST
//
// Prints a line a seed: the transfers of weights under way that faults of each kind hit. Exit code 1 if an
// invariant is violated.
#define DOCTEST_CONFIG_IMPLEMENT
#include <cstdlib>

#include "tests/sim/scaling_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

/// One or two models, one or two copies, with or without scaling loops, phases and a standby.
cluster_spec storm_cluster(uint64_t seed) {
  const auto copies = static_cast<uint32_t>(1 + seed / 2 % 2);
  auto c = seed % 2 == 0 ? scaling_cluster(copies) : two_scaling_models(copies);
  c.links[0].gbit_per_s = 0.02;
  if (seed % 3 == 0) c = with_loops(std::move(c));
  if (seed % 5 == 1) c = with_phases(std::move(c));
  return seed / 4 % 2 == 0 ? c : with_standby(std::move(c));
}

bool storm(uint64_t seed) {
  const auto c = storm_cluster(seed);
  auto w = scaling_workload(c, 50);
  w.random_faults.count = 8;
  w.random_faults.kinds = transfer_faults;
  if (has_standby(c)) add_leader_faults(w, c, seed);
  if (seed % 8 == 3) add_power_failure(w, c, seed);
  const auto r = run(c, w, {.seed = seed});
  fmt::print("seed {}:", seed);
  for (const auto k : transfer_faults)
    fmt::print(" {} {}", to_string(k), r.hits_of_transfers[static_cast<size_t>(k)]);
  fmt::print("\n");
  for (const auto& v : r.violations)
    fmt::print(stderr, "seed {}, at {:.6f} s: {}: {}\n", seed, to_seconds(v.at), v.check, v.what);
  return r.violations.empty();
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 3) return fmt::print(stderr, "usage: scaling_storm FIRST LAST\n"), 2;
  bool well = true;
  const auto last = std::strtoull(arguments[2], nullptr, 10);
  for (auto seed = std::strtoull(arguments[1], nullptr, 10); seed <= last; ++seed) well = storm(seed) && well;
  return well ? 0 : 1;
}
