// Nexus in whole clusters: it plans the placement of models, and plans again when slots or models change and
// when measured rates change.
#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

cluster_spec planned(cluster_spec c) {
  c.policy.batching = "nexus";
  c.policy.shedding = "window";
  c.policy.matchmaking = "nexus";
  return c;
}

double in_time(const request_statistics& m) {
  return static_cast<double>(m.in_slo) / static_cast<double>(m.offered);
}

}  // namespace

TEST_CASE("nexus: every model of a cluster is served in time") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto c = planned(small_cluster());
    const auto r = run(c, small_workload(c), {.seed = seed});
    check(r, seed);
    for (const auto& m : r.models) CHECK(in_time(m) > 0.97);
  }
}

TEST_CASE("nexus: after an epoch the plan follows the measured load") {
  const auto c = planned(small_cluster());
  auto w = small_workload(c, 3s);
  w.models[quick_model].rate_rps = 2500;  // more than two slots serve; the plan has equal shares
  w.warmup = 1s;
  const auto before = run(c, w, {.seed = 3, .caf_host_per_actor = false});
  check(before, 3);
  CHECK(in_time(before.models[quick_model]) < 0.7);
  w.length = 13s;
  w.warmup = 11s;
  const auto after = run(c, w, {.seed = 3, .caf_host_per_actor = false});
  check(after, 3);
  for (const auto& m : after.models) CHECK(in_time(m) > 0.95);
}

TEST_CASE("nexus: when a worker dies or leaves, its share runs on the others at once") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto c = planned(small_cluster());
    auto w = small_workload(c);
    w.warmup = 1s;  // only later requests count
    if (seed % 2 == 0)
      w.changes.push_back({change_event::kind::drain, 500ms, {}, left, {}, {}});
    else
      w.faults.push_back({fault_kind::crash, 500ms, {}, left, left});
    const auto r = run(c, w, {.seed = seed});
    check(r, seed);
    for (const auto& m : r.models) CHECK(in_time(m) > 0.9);
  }
}

TEST_CASE("nexus: a model that is deployed again has its place again") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto c = planned(small_cluster());
    auto w = small_workload(c);
    w.warmup = 1200ms;
    model_spec gone;
    gone.name = c.models[quick_model].name;
    w.changes.push_back({change_event::kind::undeploy, 400ms, gone, {}, {}});
    w.changes.push_back({change_event::kind::redeploy, 700ms + seed * 10ms, gone, {}, {}});
    const auto r = run(c, w, {.seed = seed});
    check(r, seed);
    for (const auto& m : r.models) CHECK(in_time(m) > 0.9);
  }
}

TEST_CASE("nexus: all invariants hold under faults, over a hundred seeds") {
  for (uint64_t seed = 1; seed <= 100; ++seed) check(faulty_run(seed, planned(small_cluster()), 3), seed);
  for (uint64_t seed = 1; seed <= 20; ++seed) check(faulty_run(seed, planned(small_cluster()), 12), seed);
}

TEST_CASE("nexus: a standby that takes over plans afresh") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const auto c = planned(standby_cluster());
    auto w = small_workload(c);
    w.warmup = 1s;
    w.faults.push_back({fault_kind::crash, 300ms + seed * 10ms, {}, head, head});
    if (seed % 3 == 0) w.faults.push_back({fault_kind::restart, 800ms, 100ms, left, left});
    const auto r = run(c, w, {.seed = seed});
    check(r, seed);
    if (seed % 3 == 0) continue;
    for (const auto& m : r.models) CHECK(in_time(m) > 0.9);
  }
}

TEST_CASE("nexus: every domain plans its own slots, also while models move between them") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    auto c = planned(small_cluster());
    c.domains = {{"west", 0}, {"east", 0}};
    c.nodes[right.value].domain = 1;
    c.models[1].domain = 1;
    auto w = small_workload(c, 3s);
    w.warmup = 1500ms;
    change_event e;
    e.what = change_event::kind::move;
    e.at = 300ms + seed * 5ms;
    e.model.name = c.models[quick_model].name;
    e.domain = "east";
    w.changes.push_back(e);
    if (seed % 2 == 0) {
      e.at += 400ms;
      e.domain = "west";
      w.changes.push_back(e);
    }
    const auto r = run(c, w, {.seed = seed});
    check(r, seed);
    for (const auto& m : r.models) CHECK(in_time(m) > 0.9);
  }
}
