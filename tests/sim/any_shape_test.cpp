// Models whose requests have shapes of their own: the batches of each shape, with a latency that is given or
// learnt.
#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

/// `learns`: the queues know the latencies from the batches that ran.
cluster_spec any_shape_cluster(bool learns) {
  auto c = small_cluster();
  for (auto& m : c.models) {
    m.any_shape = true;
    if (!learns) continue;
    m.origin = profile_origin::measured;
    m.latency = {};
  }
  return c;
}

/// Each model's requests have one of `shapes` shapes.
workload_spec shaped_workload(uint32_t shapes, double scale, duration length = 2s) {
  auto w = small_workload(small_cluster(), length);
  for (auto& m : w.models) {
    m.rate_rps *= scale;
    m.shapes = shapes;
  }
  return w;
}

double rows_a_batch(const world_result& r, size_t model) {
  const auto& d = r.devices[model];
  return static_cast<double>(d.rows) / static_cast<double>(d.batches);
}

double in_slo(const world_result& r) {
  return static_cast<double>(r.total.in_slo) / static_cast<double>(r.total.offered);
}

}  // namespace

TEST_CASE("any shape: all invariants hold under faults, over two hundred seeds") {
  uint64_t finished = 0, offered = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    auto w = shaped_workload(seed % 4 == 0 ? 40 : 3, 3);
    w.random_faults.count = 3;
    for (size_t k = 0; k < fault_kind_count; ++k) w.random_faults.kinds.push_back(static_cast<fault_kind>(k));
    const auto r = run(any_shape_cluster(seed % 2 == 0), w, {.seed = seed, .hang_up = 0.02});
    check(r, seed);
    finished += r.total.of(client_outcome::finished);
    offered += r.total.offered;
  }
  CHECK(finished > offered / 2);
}

TEST_CASE("any shape: the deferred policy waits for more requests of a shape than the eager one") {
  for (const bool learns : {false, true}) {
    CAPTURE(learns);
    auto c = any_shape_cluster(learns);
    const auto w = shaped_workload(3, 3, 10s);
    const auto deferred = run(c, w, {.seed = 1});
    c.policy.batching = "eager";
    const auto eager = run(c, w, {.seed = 1});
    for (const auto m : {quick_model, slow_model})
      CHECK(rows_a_batch(deferred, m) > 1.3 * rows_a_batch(eager, m));
    CHECK(in_slo(deferred) > 0.97);
  }
}

TEST_CASE("any shape: queues that learn serve about as much as those that know") {
  for (const double scale : {3.0, 8.0}) {
    CAPTURE(scale);
    const auto w = shaped_workload(3, scale, 10s);
    const auto knows = run(any_shape_cluster(false), w, {.seed = 1});
    const auto learns = run(any_shape_cluster(true), w, {.seed = 1});
    CHECK(in_slo(learns) > 0.9 * in_slo(knows));
  }
}

TEST_CASE("any shape: more shapes than classes are served one by one") {
  const auto r = run(any_shape_cluster(false), shaped_workload(1000, 1, 5s), {.seed = 1});
  check(r, 1);
  CHECK(rows_a_batch(r, quick_model) < 1.05);
  CHECK(in_slo(r) > 0.95);
}
