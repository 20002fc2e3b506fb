// The policies that BlitzScale is compared with, under load and faults: what holds for streams and instances
// holds there, too, and weights come from where the policy says.
#include <array>

#include "tests/sim/scaling_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

cluster_spec baseline_cluster(scaling_policy policy, uint32_t copies = 1) {
  auto c = scaling_cluster(policy == scaling_policy::serverless ? 0 : copies);
  c.scaling.policy = policy;
  c.scaling.keep = 300ms;
  return c;
}

world_result run_baseline(scaling_policy policy, uint64_t seed, uint32_t faults) {
  auto w = llm_workload(30);
  w.random_faults.count = faults;
  w.random_faults.kinds = transfer_faults;
  auto r = run(baseline_cluster(policy, 1 + seed % 2), w, {.seed = seed});
  check_sequences(r, seed);
  return r;
}

}  // namespace

TEST_CASE("scaling baselines: under faults") {
  for (const auto policy :
       {scaling_policy::blitz_network, scaling_policy::all_cache, scaling_policy::serverless}) {
    CAPTURE(scaling_policy_names[static_cast<size_t>(policy)]);
    uint64_t placed = 0;
    for (uint64_t seed = 1; seed <= 60; ++seed) {
      CAPTURE(seed);
      placed += run_baseline(policy, seed, 6).pool.copies_placed;
    }
    CHECK(placed > 100);
  }
}

TEST_CASE("scaling baselines: serverless nodes read their disks alone, and drop what is not used") {
  uint64_t pulled = 0, dropped = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto r = run_baseline(scaling_policy::serverless, seed, 0);
    for (const auto& copy : r.pool.copies) pulled += copy.pulled;
    dropped += r.pool.copies_dropped;
  }
  CHECK(pulled == 0);
  CHECK(dropped > 20);
}

TEST_CASE("scaling baselines: with all_cache every worker has the weights, and instances come and go") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    const auto r = run_baseline(scaling_policy::all_cache, seed, 0);
    CHECK(r.pool.copies.size() == 3);
    for (const auto& copy : r.pool.copies) CHECK(copy.ready == copy.chunks);
    CHECK(r.pool.copies_dropped == 0);
    CHECK(r.pool.copies_placed == 3);
  }
}
