#include "policies/scaling/chain_search.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "tests/policies/scaling/brute_force_chains.hpp"

using namespace troupe;

TEST_CASE("chain search: the exact one finds what trying everything finds") {
  for (const auto& [kind, name] : networks) {
    CAPTURE(name);
    each_small_instance(kind, [](const multicast_problem& p) {
      const brute_force best(p);
      const grouped_multicast g(p);
      const auto found = exact_chains(g, greedy_chains(g));
      REQUIRE(found.groups == g.groups.size());
      CHECK(std::abs(static_cast<double>(found.latest_ns) - best.latest) <= 1);
      CHECK(std::abs(static_cast<double>(found.sum_ns) - best.sum) <= static_cast<double>(found.groups) * 2);
    });
  }
}

TEST_CASE("chain search: the number of chains is that of ordered choices of leaders") {
  const auto count = [](const named_multicast& m) { return chain_count(grouped_multicast(m.problem)); };
  CHECK(count(named_multicast({"s"}, {"a", "b", "c"}).mesh(100)) == 1 + 3 + 6 + 6);
  auto two = named_multicast({"s"}, {"a", "b", "c"}).mesh(100).domain(0, {"a", "b"}).link("s", "a", 50);
  CHECK(count(two) == 1 + 3 + 4);
}

TEST_CASE("chain search: the exact one takes a slow first link where it pays") {
  // The fastest link leads to a dead end.
  auto m = named_multicast({"s"}, {"a", "b"}).link("s", "a", 400).link("s", "b", 100).link("b", "a", 100);
  m.link("a", "b", 1);
  const grouped_multicast g(m.problem);
  CHECK(greedy_chains(g).chains[0].targets == std::vector<uint32_t>{m.at("a"), m.at("b")});
  const auto found = exact_chains(g, greedy_chains(g));
  CHECK(found.chains[0].targets == std::vector<uint32_t>{m.at("b"), m.at("a")});
}

TEST_CASE("chain search: both reach as many targets as chains can, the exact one the most") {
  // Only s → b → a reaches both.
  auto m = named_multicast({"s"}, {"a", "b"}).link("s", "a", 400).link("s", "b", 100).link("b", "a", 100);
  const grouped_multicast g(m.problem);
  CHECK(greedy_chains(g).groups == 1);
  CHECK(exact_chains(g, greedy_chains(g)).groups == 2);
}
