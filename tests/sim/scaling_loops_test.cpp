// Language models get the number of instances that their load needs, without any order: more in a burst,
// fewer after it, and each decision follows from the numbers that it gives.
#include <algorithm>
#include <functional>
#include <vector>

#include "tests/sim/scaling_cluster.hpp"

using namespace troupe;
using namespace troupe::sim;

namespace {

uint32_t largest_number(const world_result& r) {
  uint32_t out = 0;
  for (const auto& d : r.scaling_decisions) out = std::max(out, d.to);
  return out;
}

/// The numbers that proved too few after the loop had gone down to them, in the order of time, while at least
/// so many tokens arrived a second.
std::vector<uint32_t> too_few(const world_result& r, double arriving_per_s) {
  const auto& newest_first = r.scaling_decisions;
  std::vector<uint32_t> out;
  for (auto i = newest_first.size(); i-- > 1;) {
    const auto& d = newest_first[i - 1];
    if (d.reason == "above" && newest_first[i].reason == "below" && d.arriving_per_s > arriving_per_s)
      out.push_back(d.from);
  }
  return out;
}

}  // namespace

TEST_CASE("scaling loop: a burst gets instances, which go when it is over") {
  uint64_t finished = 0, offered = 0;
  for (uint64_t seed = 1; seed <= 30; ++seed) {
    CAPTURE(seed);
    const auto r = run(with_loops(scaling_cluster(1 + seed % 2)), burst_workload(40), {.seed = seed});
    check_sequences(r, seed);
    CHECK(largest_number(r) >= 4);
    REQUIRE(r.pool.wanted.size() == 1);
    CHECK(r.pool.wanted[0].instances == 1);
    CHECK(r.llms[0].of(client_outcome::failed) == 0);
    finished += r.llms[0].of(client_outcome::finished);
    offered += r.llms[0].offered;
  }
  CHECK(finished == offered);
}

TEST_CASE("scaling loop: advice is that of the loop, and changes nothing") {
  auto c = with_loops(scaling_cluster());
  c.llms[0].loop.mode = autoscale_mode::advise;
  const auto r = run(c, burst_workload(40), {.seed = 1});
  check_sequences(r, 1);
  CHECK(largest_number(r) >= 4);
  CHECK(std::ranges::none_of(r.scaling_decisions, &scaling_decision::applied));
  CHECK(r.pool.wanted.at(0).instances == 2);  // of the file
}

TEST_CASE("scaling loop: a constant load leaves each number at most once, however slowly instances load") {
  for (const double gbit_per_s : {1.0, 0.1, 0.02, 0.01})
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      CAPTURE(seed);
      CAPTURE(gbit_per_s);
      auto c = with_loops(scaling_cluster());
      c.links[0].gbit_per_s = gbit_per_s;
      c.llms[0].jitter = 0;
      const auto r = run(c, burst_workload(100, 1), {.seed = seed});
      check_sequences(r, seed);
      CHECK(largest_number(r) > 2);
      const auto left = too_few(r, 1900);  // of 2,000
      CHECK(std::ranges::adjacent_find(left, std::greater_equal{}) == left.end());
    }
}

TEST_CASE("scaling loop: with faults and an operator beside it no invariant is broken") {
  size_t decisions = 0;
  for (uint64_t seed = 1; seed <= 150; ++seed) {
    auto c = with_loops(seed % 3 == 0 ? two_scaling_models() : scaling_cluster());
    const bool led = seed % 2 == 0;
    if (led) c = with_standby(std::move(c));
    auto w = scaling_workload(c, seed % 4 == 1 ? 0 : 20);
    w.random_faults.count = 6;
    w.random_faults.kinds = transfer_faults;
    if (led) add_leader_faults(w, c, seed);
    const auto r = run(c, w, {.seed = seed});
    check_sequences(r, seed);
    decisions += r.scaling_decisions.size();
  }
  fmt::print("{} decisions on numbers of instances\n", decisions);
  CHECK(decisions > 500);
}

TEST_CASE("scaling loop: the same seed gives the same run") {
  auto w = scaling_workload(with_loops(scaling_cluster()), 10);
  w.random_faults.count = 3;
  w.random_faults.kinds = {fault_kind::freeze, fault_kind::restart};
  const auto one = run(with_loops(scaling_cluster()), w, {.seed = 7});
  CHECK(one.trace_hash == run(with_loops(scaling_cluster()), w, {.seed = 7}).trace_hash);
}
