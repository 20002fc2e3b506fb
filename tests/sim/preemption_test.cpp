// Invariants under Shepherd, which preempts batches for larger ones.
#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

uint64_t preempted(const world_result& r) {
  uint64_t n = 0;
  for (const auto& d : r.devices) n += d.preempted;
  return n;
}

}  // namespace

TEST_CASE("preemption: without faults no request fails, over fifty seeds") {
  uint64_t stopped = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    const auto c = preempting_cluster();
    const auto r = run(c, bursts(c), {.seed = seed, .hang_up = 0.02});
    check(r, seed);
    CAPTURE(seed);
    CHECK(r.total.of(client_outcome::failed) == 0);
    CHECK(r.total.of(client_outcome::finished) > r.total.offered / 4);
    stopped += preempted(r);
  }
  CHECK(stopped > 500);
}

TEST_CASE("preemption: all invariants hold under faults, over two hundred seeds") {
  uint64_t stopped = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const auto c = preempting_cluster();
    auto w = bursts(c, 1500ms);
    w.random_faults.count = 3;
    for (size_t k = 0; k < fault_kind_count; ++k) w.random_faults.kinds.push_back(static_cast<fault_kind>(k));
    const auto r = run(c, w, {.seed = seed, .hang_up = 0.02});
    check(r, seed);
    stopped += preempted(r);
  }
  CHECK(stopped > 1000);
}

TEST_CASE("preemption: the story of a request names the batch that preempted its batch") {
  const auto c = preempting_cluster();
  const auto recorded = run(c, bursts(c, 200ms), {.seed = 1, .record = true});
  bool told = false;
  for (size_t k = 0; k < recorded.records.requests.size() && !told; k += 3) {
    const auto r = run(c, bursts(c, 200ms), {.seed = 1, .why = recorded.records.requests[k].what.id});
    if (!r.story) continue;
    const auto& s = *r.story;
    for (size_t i = 0; i < s.request.batches.size(); ++i)
      told = told || (s.request.batches[i].end == "preempted" && s.grants[i].taken_at != never &&
                      s.grants[i].taken_by != s.request.model);
  }
  CHECK(told);
}
