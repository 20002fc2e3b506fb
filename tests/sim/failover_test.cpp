#include "tests/sim/leader_deaths.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

double share(const world_result& r, client_outcome f) {
  return static_cast<double>(r.total.of(f)) / static_cast<double>(r.total.offered);
}

}  // namespace

TEST_CASE("failover: with a standby that is never needed, a cluster serves as without one") {
  for (const uint64_t seed : {1, 2, 3}) {
    const auto c = standby_cluster();
    const auto r = run(c, small_workload(c), {.seed = seed});
    check(r, seed);
    CHECK(share(r, client_outcome::finished) > 0.99);
  }
}

TEST_CASE("failover: a scheduler that dies costs no request, over two hundred seeds") {
  uint64_t hit = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const auto c = standby_cluster();
    auto w = small_workload(c, 1s);
    for (auto& m : w.models) m.slo = 1s;  // longer than the node timeout
    w.faults.push_back({fault_kind::crash, drawn(seed, 100ms, 900ms), {}, head, head});
    const auto r = run(c, w, {.seed = seed});
    check(r, seed);
    hit += r.hits[static_cast<size_t>(fault_kind::crash)];
    CAPTURE(seed);
    CHECK(r.total.of(client_outcome::failed) == 0);
    CHECK(r.total.of(client_outcome::refused) == 0);
    CHECK(share(r, client_outcome::finished) > 0.97);
  }
  CHECK(hit > 500);
}

TEST_CASE("failover: no worker obeys a deposed scheduler after its freeze, over two hundred seeds") {
  uint64_t hit = 0;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const auto c = standby_cluster(1 + seed % 2);
    auto w = small_workload(c, 1500ms);
    for (auto& m : w.models) m.slo = 1s;
    // Some shorter than the node timeout, some longer than an incarnation can be silent.
    w.faults.push_back(
        {fault_kind::freeze, drawn(seed, 100ms, 700ms), drawn(seed + 1000, 20ms, 500ms), head, head});
    const bool both = seed % 3 == 0;  // possibly at once: then no node schedules
    if (both)
      w.faults.push_back({fault_kind::freeze, drawn(seed + 2000, 100ms, 900ms),
                          drawn(seed + 3000, 20ms, 500ms), first_standby, first_standby});
    const auto r = run(c, w, {.seed = seed});
    check(r, seed);
    hit += r.hits[static_cast<size_t>(fault_kind::freeze)];
    CAPTURE(seed);
    if (both) continue;
    CHECK(r.total.of(client_outcome::failed) == 0);
    CHECK(share(r, client_outcome::finished) > 0.9);
  }
  CHECK(hit > 330);
}

TEST_CASE("failover: the cluster serves while schedulers die and return one after the other") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const auto c = standby_cluster(2);
    auto w = small_workload(c, 3s);
    for (auto& m : w.models) m.slo = 1s;
    for (const auto node : {head, first_standby, second_standby})
      w.faults.push_back(
          {fault_kind::restart,
           300ms + 700ms * (node.value == 0 ? 0 : node.value - 3) + drawn(seed + node.value, 0ms, 100ms),
           drawn(seed + 10 + node.value, 1ms, 300ms), node, node});
    const auto r = run(c, w, {.seed = seed});
    check(r, seed);
    CAPTURE(seed);
    CHECK(share(r, client_outcome::finished) > 0.95);
  }
}

TEST_CASE("failover: requests wait for workers that a new leader has not heard yet") {
  uint64_t waited = 0;
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    const auto c = standby_cluster();
    auto w = small_workload(c, 2s);
    for (auto& m : w.models) m.slo = 1s;
    // The standby comes back, and leads before it reaches the workers.
    w.faults.push_back({fault_kind::restart, 300ms, 20ms, first_standby, first_standby});
    for (const auto worker : {left, right})
      w.faults.push_back(
          {fault_kind::stall, 310ms, drawn(seed + worker.value, 350ms, 450ms), worker, first_standby});
    w.faults.push_back({fault_kind::crash, drawn(seed, 450ms, 500ms), {}, head, head});
    const auto r = run(c, w, {.seed = seed});
    check(r, seed);
    CAPTURE(seed);
    CHECK(r.total.no_capacity == 0);
    CHECK(share(r, client_outcome::finished) > 0.95);
    waited += r.total.latency.quantile(0.99) > 150ms;
  }
  CHECK(waited > 50);
}

TEST_CASE("failover: without a standby left, requests fail as before") {
  const auto c = standby_cluster();
  auto w = small_workload(c, 2s);
  w.faults.push_back({fault_kind::crash, 300ms, {}, first_standby, first_standby});
  w.faults.push_back({fault_kind::crash, 1s, {}, head, head});
  const auto r = run(c, w, {.seed = 1});
  check(r, 1);
  CHECK(r.total.of(client_outcome::finished) > 0);
  CHECK(r.total.of(client_outcome::failed) + r.total.of(client_outcome::dropped) > r.total.offered / 3);
}

TEST_CASE("failover: a scheduler that is drained hands over, and no request is lost") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto c = standby_cluster();
    auto w = small_workload(c, 1500ms);
    w.changes.push_back({change_event::kind::drain, 400ms + seed * 7ms, {}, head, 200ms});
    const auto r = run(c, w, {.seed = seed});
    check(r, seed);
    CAPTURE(seed);
    CHECK(r.total.of(client_outcome::failed) == 0);
    CHECK(share(r, client_outcome::finished) > 0.97);
  }
}

TEST_CASE("failover: schedulers that die one after the other know a poison request, over 100 seeds") {
  uint64_t poisoned = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    const auto c = standby_cluster(2);
    const auto r = run(c, poison_and_leader_deaths(c, seed), {.seed = seed});
    check(r, seed);
    poisoned += r.total.of(client_outcome::failed);
  }
  CHECK(poisoned > 50);
}

TEST_CASE("failover: deployments and undeployments during a failover take effect") {
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    const auto c = standby_cluster();
    auto w = small_workload(c, 2s);
    model_spec slow;
    slow.name = "slow";
    for (auto at = 200ms; at < 1800ms; at += 400ms) {
      w.changes.push_back({change_event::kind::undeploy, at + seed * 3ms, slow, {}, {}});
      w.changes.push_back({change_event::kind::redeploy, at + 200ms, slow, {}, {}});
    }
    w.faults.push_back({fault_kind::restart, drawn(seed, 200ms, 900ms), 300ms, head, head});
    w.faults.push_back(
        {fault_kind::restart, drawn(seed + 50, 1200ms, 1800ms), 300ms, first_standby, first_standby});
    check(run(c, w, {.seed = seed}), seed);
  }
}

TEST_CASE("failover: all invariants hold under faults, over two hundred seeds") {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    const auto c = standby_cluster(1 + seed % 2);
    auto w = small_workload(c);
    w.random_faults.count = 4;
    for (size_t k = 0; k < fault_kind_count; ++k) w.random_faults.kinds.push_back(static_cast<fault_kind>(k));
    check(run(c, w, {.seed = seed, .hang_up = 0.02}), seed);
  }
}

TEST_CASE("failover: all invariants hold when gateways and workers share nodes with schedulers") {
  auto c = small_cluster();
  c.nodes[1].roles.push_back(node_role::standby);
  c.nodes[2].roles.push_back(node_role::standby);
  c.limits.takeover = 60ms;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    auto w = small_workload(c);
    w.random_faults.count = 4;
    for (const auto k : {fault_kind::crash, fault_kind::restart, fault_kind::freeze, fault_kind::cut,
                         fault_kind::stall, fault_kind::delay})
      w.random_faults.kinds.push_back(k);
    check(run(c, w, {.seed = seed, .hang_up = 0.02}), seed);
  }
}
