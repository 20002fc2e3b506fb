#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

TEST_CASE("whatever goes wrong, all invariants hold, over two hundred seeds") {
  constexpr uint64_t seeds = 200;
  fault_counts injected{}, hits{};
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto r = faulty_run(seed);
    const auto why = told(r, seed);
    CHECK_MESSAGE(r.violations.empty(), why);
    uint64_t fates = 0;
    for (const auto n : r.total.fates) fates += n;
    CHECK(fates == r.total.offered);
    for (size_t k = 0; k < fault_kind_count; ++k) {
      injected[k] += r.faults[k];
      hits[k] += r.hits[k];
    }
  }
  fmt::print("{:<12} {:>9} {:>28}\n", "fault", "injected", "hit a request in flight");
  for (size_t k = 0; k < fault_kind_count; ++k) {
    const auto kind = static_cast<fault_kind>(k);
    fmt::print("{:<12} {:>9} {:>28}\n", to_string(kind), injected[k], hits[k]);
    CAPTURE(to_string(kind));
    CHECK(hits[k] >= 50);
  }
}
