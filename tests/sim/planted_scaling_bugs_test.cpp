#include <set>

#include "actors/common/planted_bug.hpp"
#include "tests/sim/keeping_cluster.hpp"
#include "tests/sim/scaling_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

/// Whether runs with the bug violate the invariant. `workload(seed)` is that of a run.
template <class W>
bool breaks_run(bug b, const char* invariant, const cluster_spec& c, W workload, uint64_t runs = 20) {
  bool broken = false;
  planted_bug = b;
  for (uint64_t seed = 1; seed <= runs && !broken; ++seed)
    for (const auto& v : run(c, workload(seed), {.seed = seed}).violations)
      broken = broken || invariant == std::string_view("any") || v.check == invariant;
  planted_bug = bug::none;
  return broken;
}

/// Instances come and go under faults.
bool breaks_run(bug b, const char* invariant, const cluster_spec& c, std::vector<fault_kind> faults,
                uint64_t runs = 20) {
  const auto workload = [&](uint64_t seed) {
    auto w = scaling_workload(c, 30);
    w.random_faults.count = 10;
    w.random_faults.kinds = faults;
    if (has_standby(c)) add_leader_faults(w, c, seed);
    return w;
  };
  return breaks_run(b, invariant, c, workload, runs);
}

/// Transfers are hit by corruption and slow disks.
bool breaks_scaling_run(bug b, const char* invariant) {
  return breaks_run(b, invariant, scaling_cluster(), {fault_kind::chunk_corrupt, fault_kind::ssd_slow});
}
bool breaks_run_of_two_models(bug b, const char* invariant) {
  return breaks_run(b, invariant, two_scaling_models(), {fault_kind::slow_link, fault_kind::ssd_slow});
}

/// Files of tensor models travel to the workers as they start.
bool breaks_start_with_files(bug b, const char* invariant) {
  const auto c = keeping_cluster();
  auto w = small_workload(c);
  w.random_faults.count = 10;
  w.random_faults.kinds = {fault_kind::chunk_corrupt, fault_kind::restart};
  return breaks_run(b, invariant, c, [&](uint64_t) { return w; });
}

}  // namespace

TEST_CASE("scaling: without a bug no invariant is broken") {
  CHECK_FALSE(breaks_scaling_run(bug::none, "any"));
  CHECK_FALSE(breaks_run_of_two_models(bug::none, "any"));
}
TEST_CASE("scaling: the invariants detect chunks that are not verified") {
  CHECK(breaks_scaling_run(bug::stale_chunk, "weights"));
}
TEST_CASE("scaling: the invariants detect files of tensor models that are not verified") {
  CHECK_FALSE(breaks_start_with_files(bug::none, "any"));
  CHECK(breaks_start_with_files(bug::stale_chunk, "weights"));
}
TEST_CASE("scaling: the invariants detect layers that are all pulled from one place") {
  CHECK(breaks_scaling_run(bug::same_offset, "instances"));
}
TEST_CASE("scaling: the invariants detect that the last copy of weights is dropped") {
  CHECK(breaks_scaling_run(bug::drop_last_copy, "copies"));
}
TEST_CASE("scaling: the invariants detect an engine that serves before all its layers are there") {
  CHECK(breaks_scaling_run(bug::half_loaded, "ready"));
}
TEST_CASE("scaling: the invariants detect an engine that serves although it should not") {
  CHECK(breaks_scaling_run(bug::zombie_engine, "instances"));
}
TEST_CASE("scaling: the invariants detect weights that travel twice over one link") {
  CHECK(breaks_scaling_run(bug::two_successors, "plan"));
}
TEST_CASE("scaling: the invariants detect a source whose link is busy with another model") {
  CHECK(breaks_run_of_two_models(bug::busy_source, "plan"));
}
TEST_CASE("scaling: the invariants detect a scale planner that forgets the instances that load") {
  const auto breaks = [](bug b) {
    planted_bug = b;
    const auto r = run(with_loops(scaling_cluster()), burst_workload(40), {.seed = 1});
    planted_bug = bug::none;
    return std::ranges::any_of(r.violations, [](const auto& v) { return v.check == "scaling"; });
  };
  CHECK_FALSE(breaks(bug::none));
  CHECK(breaks(bug::uncounted_loading));
}
TEST_CASE("scaling: the invariants detect a shard that obeys a former leader") {
  auto c = with_standby(two_scaling_models(1));
  c.links[0].gbit_per_s = 0.02;  // orders are given, and repeated, while leaders change
  CHECK(breaks_run(bug::old_orders, "term", c, {fault_kind::restart}, 300));
}
