#include "policies/scaling/chain_improvement.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "tests/policies/scaling/brute_force_chains.hpp"

using namespace troupe;

namespace {

constexpr uint64_t unlimited = 1'000'000'000;

}  // namespace

TEST_CASE("chain improvement: greedy chains end within 3 % of the best, but on arbitrary networks") {
  for (const auto& [kind, name] : networks) {
    double greedy = 1, improved = 1, sum = 0;
    each_small_instance(kind, [&](multicast_problem p) {
      p.chunks = 32;
      const grouped_multicast g(p);
      const auto found = greedy_chains(g);
      REQUIRE(found.groups == g.groups.size());
      const auto better = improved_chains(g, found, unlimited);
      CHECK(!found.better_than(better));
      const double best = brute_force(p).latest;
      greedy = std::max(greedy, static_cast<double>(found.latest_ns) / best);
      const double ratio = static_cast<double>(better.latest_ns) / best;
      improved = std::max(improved, ratio);
      sum += ratio;
      CHECK(static_cast<double>(better.latest_ns) > best - 2);
    });
    MESSAGE(std::string(name), ": greedy ", greedy, ", improved ", improved, " (mean ", sum / 1500,
            ") times the best finish");
    CHECK(improved <= (kind == network_kind::arbitrary ? 3 : 1.03));
  }
}

TEST_CASE("chain improvement: the finish is that of the chains") {
  random_stream random(5, "improve");
  for (int i = 0; i < 100; ++i) {
    const auto p = random_multicast(random, network_kind::arbitrary, 4, 12);
    const grouped_multicast g(p);
    const auto found = improved_chains(g, greedy_chains(g), unlimited);
    int64_t latest = 0, sum = 0;
    std::vector<uint32_t> placed;
    for (const auto& c : found.chains) {
      chain_time time;
      auto tail = c.source;
      for (const auto t : c.targets) {
        const group_finish f(p, 1, time.add_hop(p.chunk_ns(p.rate(tail, t)), p.chunks));
        latest = std::max(latest, f.leader);
        sum += f.sum;
        placed.push_back(tail = t);
      }
    }
    CHECK(found.latest_ns == latest);
    CHECK(found.sum_ns == sum);
    std::sort(placed.begin(), placed.end());
    CHECK(std::adjacent_find(placed.begin(), placed.end()) == placed.end());
    CHECK(placed.size() == p.size() - p.sources);
  }
}

TEST_CASE("chain improvement: groups without a link to a tail go between others") {
  // Greedy takes s → a, after which nothing reaches b: only s → b → a reaches both.
  auto m = named_multicast({"s"}, {"a", "b"}).link("s", "a", 400).link("s", "b", 100).link("b", "a", 100);
  const grouped_multicast g(m.problem);
  const auto found = greedy_chains(g);
  CHECK(found.groups == 1);
  const auto better = improved_chains(g, found, unlimited);
  CHECK(better.groups == 2);
  CHECK(better.chains[0].targets == std::vector<uint32_t>{m.at("b"), m.at("a")});
}

TEST_CASE("chain improvement: a source without a chain takes over the end of another's") {
  for (const auto& sources : {std::vector<std::string>{"H", "D"}, {"D", "H"}}) {
    auto m =
        named_multicast(sources, {"T1", "T2"}).link("D", "T1", 100).link("T1", "T2", 100).link("H", "T2", 90);
    m.problem.chunks = 1;
    const grouped_multicast g(m.problem);
    const auto found = greedy_chains(g);
    REQUIRE(found.chains.size() == 1);
    CHECK(improved_chains(g, found, unlimited).chains.size() == 2);
  }
}

TEST_CASE("chain improvement: even without work left, every group gets a place that links allow") {
  auto m = named_multicast({"s"}, {"a", "b"}).link("s", "a", 400).link("s", "b", 100).link("b", "a", 100);
  const grouped_multicast g(m.problem);
  CHECK(improved_chains(g, greedy_chains(g), 0).groups == 2);
}

TEST_CASE("chain improvement: without work left it changes nothing") {
  random_stream random(5, "bounded");
  const auto p = random_multicast(random, network_kind::arbitrary, 3, 30);
  const grouped_multicast g(p);
  const auto found = greedy_chains(g), same = improved_chains(g, found, 0);
  REQUIRE(found.chains.size() == same.chains.size());
  for (size_t i = 0; i < found.chains.size(); ++i) CHECK(found.chains[i].targets == same.chains[i].targets);
}
