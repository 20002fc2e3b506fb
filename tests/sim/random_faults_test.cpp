#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

TEST_CASE("whatever goes wrong, all invariants hold, over two hundred seeds") {
  constexpr uint64_t seeds = 200;
  fault_counts injected{}, hits{};
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    const auto r = faulty_run(seed);
    check(r, seed);
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

TEST_CASE("they hold when everything goes wrong at once") {
  for (uint64_t seed = 1; seed <= 50; ++seed) check(faulty_run(seed, small_cluster(), 12), seed);
}

TEST_CASE("they hold when one node is the whole cluster") {
  auto c = small_cluster();
  c.nodes.resize(1);
  c.nodes[0].roles = {node_role::gateway, node_role::scheduler, node_role::worker};
  for (auto& s : c.slots) s.node = node_id{0};
  for (uint64_t seed = 1; seed <= 50; ++seed) check(faulty_run(seed, c, 3), seed);
}

TEST_CASE("they hold when every node takes requests and runs batches") {
  auto c = small_cluster();
  for (auto& n : c.nodes) n.roles = {node_role::gateway, node_role::worker};
  c.nodes[2].roles.push_back(node_role::scheduler);
  for (uint32_t i = 0; i < c.slots.size(); ++i) c.slots[i].node = node_id{i};
  for (uint64_t seed = 1; seed <= 50; ++seed) check(faulty_run(seed, c, 5), seed);
}

TEST_CASE("they hold when memory is short, batches are eager and devices slower than they say") {
  auto c = small_cluster();
  c.policy.batching = "eager";
  c.limits.pool_bytes = 4096;
  for (auto& s : c.slots) s.jitter = 0.3;
  for (uint64_t seed = 1; seed <= 50; ++seed) check(faulty_run(seed, c, 3), seed);
}
