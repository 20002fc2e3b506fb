// A language model scales up and down under load and faults: weights are never wrong, no last copy is
// dropped, every stream has the tokens of an undisturbed run, and in the end there are as many instances as
// were wanted.
#include "tests/sim/scaling_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

TEST_CASE("scaling: without faults no request fails while instances come and go") {
  uint64_t scales = 0, placed = 0, moved = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    const auto r = run(scaling_cluster(1 + seed % 2), llm_workload(20), {.seed = seed});
    check_sequences(r, seed);
    CHECK(r.llms[0].of(client_outcome::failed) == 0);
    scales += r.llm_changes.scales;
    placed += r.pool.copies_placed;
    moved += r.llms[0].moved;
  }
  fmt::print("{} orders to scale, {} copies placed, {} streams went on on another node\n", scales, placed,
             moved);
  CHECK(scales > 500);
  CHECK(placed > 200);
  CHECK(moved > 100);
}

TEST_CASE("scaling: under faults, which hit transfers that are under way") {
  fault_counts hits{};
  uint64_t relinked = 0;
  const auto& kinds = transfer_faults;
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    auto w = llm_workload(30);
    w.random_faults.count = 6;
    w.random_faults.kinds = kinds;
    const auto c = scaling_cluster(1 + seed % 2);
    if (seed % 8 == 3) add_power_failure(w, c, seed);
    const auto r = run(c, w, {.seed = seed});
    check_sequences(r, seed);
    relinked += r.pool.relinked;
    for (size_t k = 0; k < fault_kind_count; ++k) hits[k] += r.hits_of_transfers[k];
  }
  fmt::print("{} transfers got another source; transfers that faults hit:", relinked);
  for (const auto k : kinds) fmt::print(" {} {}", to_string(k), hits[static_cast<size_t>(k)]);
  fmt::print("\n");
  for (const auto k : kinds) {
    CAPTURE(to_string(k));
    CHECK(hits[static_cast<size_t>(k)] > 0);
  }
  CHECK(relinked > 0);
}

TEST_CASE("scaling: the same seed gives the same run") {
  auto w = llm_workload(20);
  w.random_faults.count = 3;
  w.random_faults.kinds = {fault_kind::freeze, fault_kind::restart};
  const auto one = run(scaling_cluster(), w, {.seed = 7}), two = run(scaling_cluster(), w, {.seed = 7});
  CHECK(one.trace_hash == two.trace_hash);
}

TEST_CASE("scaling: nodes measure the links that the cluster file does not have, and their disks") {
  auto c = scaling_cluster();
  c.links.clear();
  c.scaling.chunk_bytes = 4 << 20;
  constexpr uint64_t layer = 16 << 20;
  const auto measure = [&](uint64_t seed) {
    auto r = run(c, llm_workload(10), {.seed = seed, .images = {{{std::vector<uint64_t>(5, layer)}}}});
    check_sequences(r, seed);
    return r;
  };
  const auto one = measure(3), two = measure(3);
  REQUIRE(!one.pool.links.empty());
  for (const auto& l : one.pool.links) CHECK(l.gbit_per_s == doctest::Approx(10).epsilon(0.1));
  REQUIRE(!one.pool.disks.empty());
  for (const auto& d : one.pool.disks) CHECK(d.gbit_per_s == doctest::Approx(layer * 8 / 5e6).epsilon(0.1));
  CHECK(one.trace_hash == two.trace_hash);
  REQUIRE(one.pool.links.size() == two.pool.links.size());
  for (size_t i = 0; i < one.pool.links.size(); ++i)
    CHECK(one.pool.links[i].gbit_per_s == two.pool.links[i].gbit_per_s);
}

TEST_CASE("scaling: a model without instances starts with its first request") {
  auto c = scaling_cluster();
  c.llms[0].instances = c.llms[0].min_instances = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    const auto r = run(c, llm_workload(0), {.seed = seed});
    check_sequences(r, seed);
    CAPTURE(seed);
    CHECK(r.llms[0].of(client_outcome::finished) > r.llms[0].offered / 4);  // one instance is slower than six
  }
}

TEST_CASE("scaling: the leader and its standby are killed, freeze and are cut off while weights travel") {
  uint64_t old_orders = 0;
  fault_counts hits{};
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    const auto c = with_standby(seed % 2 == 0 ? scaling_cluster(1 + seed % 3) : two_scaling_models());
    auto w = scaling_workload(c, 30);
    add_leader_faults(w, c, seed);
    const auto r = run(c, w, {.seed = seed});
    check_sequences(r, seed);
    old_orders += r.old_orders;
    for (size_t k = 0; k < fault_kind_count; ++k) hits[k] += r.hits_of_transfers[k];
  }
  fmt::print("{} orders of former leaders; transfers hit:", old_orders);
  for (const auto k : {fault_kind::freeze, fault_kind::restart, fault_kind::cut, fault_kind::stall}) {
    fmt::print(" {} {}", to_string(k), hits[static_cast<size_t>(k)]);
    CHECK(hits[static_cast<size_t>(k)] > 0);
  }
  fmt::print("\n");
  CHECK(old_orders > 0);
}
