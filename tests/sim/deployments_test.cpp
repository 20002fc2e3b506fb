#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

struct deployment_scenario {
  cluster_spec cluster = small_cluster();
  workload_spec workload = small_workload(cluster);

  /// Deploys a fourth model, with load from then on.
  deployment_scenario& deploy(duration at) {
    auto m = cluster.models[1];
    m.name = "late";
    workload.changes.push_back({change::deploy, at, m, {}, {}});
    model_load l;
    l.model = model_id{static_cast<uint32_t>(workload.models.size())};
    l.rate_rps = 80;
    l.from = at;
    l.slo = m.slo;
    l.latency = m.latency;
    workload.models.push_back(l);
    return *this;
  }
  deployment_scenario& change_at(change what, duration at, const char* name) {
    model_spec m;
    m.name = name;
    workload.changes.push_back({what, at, m, {}, {}});
    return *this;
  }
  deployment_scenario& drain(duration at, node_id node, duration back_after) {
    workload.changes.push_back({change::drain, at, {}, node, back_after});
    return *this;
  }
  world_result run(uint64_t seed, double hang_up = 0) {
    auto r = sim::run(cluster, workload, {.seed = seed, .hang_up = hang_up});
    const auto why = told(r, seed);
    CHECK_MESSAGE(r.violations.empty(), why);
    return r;
  }
};

}  // namespace

TEST_CASE("a model that is deployed is served, one that is undeployed is refused, and no request fails") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto r = deployment_scenario{}
                       .deploy(500ms)
                       .change_at(change::undeploy, 1s, "quick")
                       .change_at(change::undeploy, 1500ms, "late")
                       .run(seed);
    const auto& late = r.models[3];
    CHECK(late.of(client_outcome::finished) > 50);
    CHECK(late.of(client_outcome::refused) > 10);
    CHECK(late.of(client_outcome::failed) + late.of(client_outcome::dropped) <= 3);
    CHECK(r.devices[3].batches > 0);
    CHECK(r.models[0].of(client_outcome::refused) > 100);
    CHECK(r.models[0].of(client_outcome::finished) > 100);
    CHECK(r.models[1].of(client_outcome::finished) > 140);
  }
}

TEST_CASE("a model that is deployed again serves as before") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    const auto r = deployment_scenario{}
                       .change_at(change::undeploy, 300ms, "slow")
                       .change_at(change::redeploy, 600ms, "slow")
                       .change_at(change::undeploy, 900ms, "slow")
                       .change_at(change::redeploy, 1s, "slow")
                       .run(seed);
    CHECK(r.models[1].of(client_outcome::refused) > 10);
    CHECK(r.models[1].of(client_outcome::finished) > 80);
  }
}

TEST_CASE("nodes that drain one after the other lose no request") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    const auto r = deployment_scenario{}
                       .drain(300ms, left, 100ms)
                       .drain(800ms, right, 100ms)
                       .drain(1200ms, frontend_node, 200ms)
                       .run(seed);
    CHECK(r.total.of(client_outcome::failed) + r.total.of(client_outcome::lost_with_gateway) == 0);
    CHECK(r.total.of(client_outcome::finished) > 450);
  }
}

TEST_CASE("a scheduler that drains first finishes its requests, even over a slow link") {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    deployment_scenario s;
    s.workload.faults.push_back({fault_kind::delay, 1ms, 1900ms, head, frontend_node, 20ms});
    const auto r = s.drain(700ms, head, 200ms).run(seed);
    CHECK(r.total.of(client_outcome::failed) + r.total.of(client_outcome::lost_with_gateway) == 0);
    CHECK(r.total.of(client_outcome::finished) > 200);
  }
}

TEST_CASE("deployments outlive the scheduler, and every other node") {
  for (const auto node : {head, frontend_node, left}) {
    for (uint64_t seed = 1; seed <= 5; ++seed) {
      deployment_scenario s;
      s.workload.faults.push_back({fault_kind::restart, 700ms, 100ms, node, node});
      s.workload.warmup = 1500ms;
      const auto r = s.change_at(change::undeploy, 200ms, "rare").deploy(300ms).run(seed);
      const auto& late = r.models[3];
      CHECK(late.of(client_outcome::finished) > late.offered * 9 / 10);
      CHECK(r.models[2].of(client_outcome::refused) == r.models[2].offered);
    }
  }
}

TEST_CASE("all invariants hold under faults while models and nodes are added and removed") {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    deployment_scenario s;
    s.workload.random_faults.count = 3;
    for (size_t k = 0; k < fault_kind_count; ++k)
      s.workload.random_faults.kinds.push_back(static_cast<fault_kind>(k));
    s.deploy(duration{seed * 7'000'000})
        .change_at(change::undeploy, 800ms, "quick")
        .drain(900ms, node_id{static_cast<uint32_t>(seed % 4)}, 150ms)
        .change_at(change::redeploy, 1200ms, "quick")
        .change_at(change::undeploy, 1500ms, "late")
        .run(seed, 0.02);
  }
}
