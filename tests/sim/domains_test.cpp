// Scheduling domains: two separate workers, migration of models, and the placer.
#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

/// The worker of the domain "west" serves "quick" and "rare", that of "east" serves "slow".
struct domain_scenario {
  cluster_spec cluster = apart();
  workload_spec workload = small_workload(cluster);

  static cluster_spec apart() {
    auto c = small_cluster();
    c.domains = {{"west", 0}, {"east", 0}};
    c.nodes[right.value].domain = 1;
    c.models[slow_model].domain = 1;
    return c;
  }
  domain_scenario& move(duration at, size_t model, const char* to) {
    change_event e;
    e.what = change::move;
    e.at = at;
    e.model.name = cluster.models[model].name;
    e.domain = to;
    workload.changes.push_back(e);
    return *this;
  }
  /// Drains the node permanently.
  domain_scenario& drain(duration at, node_id node) {
    workload.changes.push_back({change::drain, at, {}, node, {}, {}});
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

TEST_CASE("domains: a model is served by the workers of its domain, and by no others") {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    domain_scenario s;
    s.workload.warmup = 1200ms;  // only later requests count
    const auto r = s.drain(1s, left).run(seed);
    CHECK(r.models[quick_model].of(client_outcome::finished) == 0);
    CHECK(r.models[rare_model].of(client_outcome::finished) == 0);
    CHECK(r.models[slow_model].of(client_outcome::finished) > 50);
  }
}

TEST_CASE("domains: a model that moves is served all the time, then by its new domain alone") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    domain_scenario s;
    const auto r = s.move(500ms, quick_model, "east").drain(1200ms, left).run(seed);
    CHECK(r.total.of(client_outcome::failed) + r.total.of(client_outcome::lost_with_gateway) +
              r.total.of(client_outcome::refused) ==
          0);
    CHECK(r.models[quick_model].of(client_outcome::finished) > r.models[quick_model].offered * 97 / 100);
    CHECK(r.models[rare_model].of(client_outcome::dropped) > 0);  // it stayed in the west
  }
}

TEST_CASE("domains: models that go back and forth lose no request") {
  for (uint64_t seed = 1; seed <= 40; ++seed) {
    domain_scenario s;
    s.move(200ms, quick_model, "east")
        .move(300ms, slow_model, "west")
        .move(500ms, rare_model, "east")
        .move(700ms, quick_model, "west");
    s.move(duration{800'000'000 + seed * 1'000'000}, slow_model, "east").move(1100ms, rare_model, "west");
    const auto r = s.run(seed, seed % 2 == 0 ? 0.02 : 0);
    CHECK(r.total.of(client_outcome::failed) + r.total.of(client_outcome::lost_with_gateway) +
              r.total.of(client_outcome::refused) ==
          0);
    CHECK(r.total.no_capacity == 0);
    if (seed % 2 == 1) CHECK(r.total.of(client_outcome::finished) > r.total.offered * 95 / 100);
  }
}

TEST_CASE("domains: a move continues after a restart of the scheduler") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    domain_scenario s;
    const auto at = 500ms + seed * 2ms;
    s.workload.faults.push_back({fault_kind::restart, at, 50ms, head, head});
    s.workload.warmup = 2300ms;
    s.workload.length = 3s;
    const auto r = s.move(500ms, quick_model, "east").drain(2200ms, left).run(seed);
    CHECK(r.models[quick_model].of(client_outcome::finished) > r.models[quick_model].offered * 9 / 10);
  }
}

TEST_CASE("domains: all invariants hold under faults while models move") {
  for (uint64_t seed = 1; seed <= 80; ++seed) {
    domain_scenario s;
    s.workload.random_faults.count = 3;
    for (size_t k = 0; k < fault_kind_count; ++k)
      s.workload.random_faults.kinds.push_back(static_cast<fault_kind>(k));
    s.move(duration{200'000'000 + seed * 5'000'000}, quick_model, "east").move(900ms, slow_model, "west");
    s.move(1200ms, quick_model, "west").run(seed, 0.02);
  }
}

TEST_CASE("placer: the models of a crowded domain are spread over both, and no request is lost") {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    domain_scenario s;
    s.cluster.models[slow_model].domain = 0;
    s.cluster.placer.epoch = 300ms;
    s.cluster.placer.steps = 2'000;
    s.workload.length = 3s;
    s.workload.warmup = 2s;
    const auto r = s.drain(1800ms, left).run(seed);
    CHECK(r.total.of(client_outcome::failed) + r.total.of(client_outcome::lost_with_gateway) +
              r.total.of(client_outcome::refused) ==
          0);
    // After the west is gone, the migrated models are served: either "quick" or the two others.
    const auto served = [&](size_t m) {
      return r.models[m].of(client_outcome::finished) > r.models[m].offered / 2;
    };
    CHECK(served(quick_model) != served(slow_model));
    CHECK(served(slow_model) == served(rare_model));
  }
}

TEST_CASE("placer: all invariants hold under faults while it moves models") {
  for (uint64_t seed = 1; seed <= 60; ++seed) {
    domain_scenario s;
    s.cluster.models[slow_model].domain = 0;
    s.cluster.placer.epoch = 200ms;
    s.cluster.placer.steps = 2'000;
    s.cluster.placer.min_gain = 0.01;
    s.workload.random_faults.count = 3;
    for (size_t k = 0; k < fault_kind_count; ++k)
      s.workload.random_faults.kinds.push_back(static_cast<fault_kind>(k));
    s.run(seed, 0.02);
  }
}
