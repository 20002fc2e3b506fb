#include <set>

#include "actors/common/planted_bug.hpp"
#include "tests/sim/scaling_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

/// Whether runs with the bug violate the invariant; transfers are hit by corruption and slow disks.
bool breaks_scaling_run(bug b, const char* invariant) {
  bool broken = false;
  planted_bug = b;
  for (uint64_t seed = 1; seed <= 20 && !broken; ++seed) {
    auto w = llm_workload(30);
    w.random_faults.count = 10;
    w.random_faults.kinds = {fault_kind::chunk_corrupt, fault_kind::ssd_slow};
    for (const auto& v : run(scaling_cluster(), w, {.seed = seed}).violations)
      broken = broken || invariant == std::string_view("any") || v.check == invariant;
  }
  planted_bug = bug::none;
  return broken;
}

}  // namespace

TEST_CASE("scaling: without a bug no invariant is broken") {
  CHECK_FALSE(breaks_scaling_run(bug::none, "any"));
}
TEST_CASE("scaling: the invariants detect chunks that are not verified") {
  CHECK(breaks_scaling_run(bug::stale_chunk, "weights"));
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
