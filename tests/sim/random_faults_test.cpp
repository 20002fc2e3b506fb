#include "tests/sim/small_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

TEST_CASE("all invariants hold under faults, over two hundred seeds") {
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

TEST_CASE("all invariants hold when every kind of fault occurs at once") {
  for (uint64_t seed = 1; seed <= 50; ++seed) check(faulty_run(seed, small_cluster(), 12), seed);
}

TEST_CASE("all invariants hold in a cluster of one node") {
  auto c = small_cluster();
  c.nodes.resize(1);
  c.nodes[0].roles = {node_role::gateway, node_role::scheduler, node_role::worker};
  for (auto& s : c.slots) s.node = node_id{0};
  for (uint64_t seed = 1; seed <= 50; ++seed) check(faulty_run(seed, c, 3), seed);
}

TEST_CASE("all invariants hold when every node is a gateway and a worker") {
  auto c = small_cluster();
  for (auto& n : c.nodes) n.roles = {node_role::gateway, node_role::worker};
  c.nodes[2].roles.push_back(node_role::scheduler);
  for (uint32_t i = 0; i < c.slots.size(); ++i) c.slots[i].node = node_id{i};
  for (uint64_t seed = 1; seed <= 50; ++seed) check(faulty_run(seed, c, 5), seed);
}

TEST_CASE("all invariants hold with little memory, eager batching and devices slower than their profiles") {
  auto c = small_cluster();
  c.policy.batching = "eager";
  c.limits.pool_bytes = 4096;
  for (auto& s : c.slots) s.jitter = 0.3;
  for (uint64_t seed = 1; seed <= 50; ++seed) check(faulty_run(seed, c, 3), seed);
}
