#include "policies/scaling/multicast_plan.hpp"

#include <doctest/doctest.h>

#include "tests/policies/scaling/multicast_problems.hpp"

using namespace troupe;

using chains = std::vector<std::vector<std::string>>;
using groups = std::map<std::string, std::set<std::string>>;

namespace {

void check_finishes(const named_multicast& m, const multicast_plan& plan,
                    const std::map<std::string, double>& seconds) {
  for (const auto& [name, s] : seconds) {
    CAPTURE(name);
    CHECK(std::abs(m.finish_s(plan, name) - s) < 1e-9);
  }
}

}  // namespace

TEST_CASE("plan: two targets and equal links make one chain") {
  const auto m = named_multicast({"S"}, {"T1", "T2"}).mesh(100);
  const auto plan = m.plan();
  CHECK(m.chains(plan) == chains{{"S", "T1", "T2"}});
  check_finishes(m, plan, {{"S", 0}, {"T1", 1.12}, {"T2", 1.155}});
  CHECK(plan.latest() == 1155ms);
  CHECK(plan.exact);
}

TEST_CASE("plan: the target with the faster link comes first") {
  const auto m = named_multicast({"S"}, {"T1", "T2"}).mesh(100).link("S", "T2", 200);
  const auto plan = m.plan();
  // The time of T1 is that of the other order, so the sum decides.
  CHECK(m.chains(plan) == chains{{"S", "T2", "T1"}});
  check_finishes(m, plan, {{"T2", 0.56}, {"T1", 1.1375}});
}

TEST_CASE("plan: a busy prefill instance is pruned, a host memory serves in its place") {
  auto m = named_multicast({"D", "P", "H"}, {"T1", "T2"}).mesh(100);
  m.problem.nodes[m.at("P")].busy = true;
  const auto plan = m.plan();
  CHECK(m.chains(plan) == chains{{"D", "T1"}, {"H", "T2"}});
  CHECK(plan.pruned == std::vector<uint32_t>{m.at("P")});
  check_finishes(m, plan, {{"T1", 1.12}, {"T2", 1.12}});
}

TEST_CASE("plan: several sources make several chains") {
  const auto m = named_multicast({"D", "H"}, {"T1", "T2", "T3", "T4"}).mesh(100);
  const auto plan = m.plan();
  CHECK(m.chains(plan) == chains{{"D", "T1", "T3"}, {"H", "T2", "T4"}});
  check_finishes(m, plan, {{"T1", 1.12}, {"T2", 1.12}, {"T3", 1.155}, {"T4", 1.155}});
}

TEST_CASE("plan: one instance of each scale-up domain leads it") {
  auto m = named_multicast({"c0"}, {"a0", "a1", "a2", "a3", "b0", "b1", "b2", "b3", "c1"}).mesh(100);
  m.domain(0, {"a0", "a1", "a2", "a3"}).domain(1, {"b0", "b1", "b2", "b3"}).domain(2, {"c0", "c1"});
  m.problem.domain_gbit_per_s = 1600;
  const auto plan = m.plan();
  CHECK(m.chains(plan) == chains{{"c0", "a0", "b0"}});
  CHECK(m.groups(plan) == groups{{"c0", {"c1"}}, {"a0", {"a1", "a2", "a3"}}, {"b0", {"b1", "b2", "b3"}}});
  check_finishes(m, plan,
                 {{"c1", 0.07}, {"a0", 1.12}, {"a1", 1.19}, {"a3", 1.19}, {"b0", 1.155}, {"b2", 1.225}});
  CHECK(plan.exact);
}

TEST_CASE("plan: chains stay within their leaves") {
  auto m = named_multicast({"S1", "S2"}, {"x1", "x2", "y1", "y2"}).mesh(25);
  m.mesh(100, {"S1", "x1", "x2"}).mesh(100, {"S2", "y1", "y2"});
  const auto plan = m.plan();
  CHECK(m.chains(plan) == chains{{"S1", "x1", "x2"}, {"S2", "y1", "y2"}});
  check_finishes(m, plan, {{"x1", 1.12}, {"x2", 1.155}, {"y1", 1.12}, {"y2", 1.155}});
}

TEST_CASE("plan: a single busy source serves at half of its rate") {
  auto m = named_multicast({"P"}, {"T1"}).mesh(100);
  m.problem.nodes[0].busy = true;
  const auto plan = m.plan();
  CHECK(plan.half_rate_source);
  CHECK(plan.pruned.empty());
  check_finishes(m, plan, {{"T1", 2.24}});
}

TEST_CASE("plan: lanes divide the network's time, and the domain gathers the parts") {
  auto m = named_multicast({"S"}, {"T1", "T2"}).mesh(100);
  m.problem.lanes = 4;
  check_finishes(m, m.plan(), {{"T1", 0.28}, {"T2", 0.28875}});
  m.problem.domain_gbit_per_s = 1600;
  check_finishes(m, m.plan(), {{"T1", 0.28 + 0.0525}, {"T2", 0.28875 + 0.0525}});
}

TEST_CASE("plan: a leader is the member that makes its chain finish first") {
  // a0 has the faster link from the source, but only a1 has a fast one to b.
  auto m = named_multicast({"s"}, {"a0", "a1", "b"}).domain(0, {"a0", "a1"});
  m.link("s", "a0", 100).link("s", "a1", 90).link("a1", "b", 100).link("a0", "b", 10);
  const auto plan = m.plan();
  CHECK(m.chains(plan) == chains{{"s", "a1", "b"}});
  CHECK(plan.exact);
}

TEST_CASE("plan: with more than six leaders chains are greedy") {
  auto m = named_multicast({"S", "R"}, {"1", "2", "3", "4", "5", "6", "7"}).mesh(100);
  const auto plan = m.plan();
  CHECK(!plan.exact);
  CHECK(m.chains(plan) == chains{{"S", "1", "3", "5", "7"}, {"R", "2", "4", "6"}});
  CHECK(plan_multicast(named_multicast({"S"}, {"1", "2"}).mesh(100).problem, 1).exact == false);
}

TEST_CASE("plan: targets that no chain reaches are named") {
  const auto m = named_multicast({"S"}, {"T1", "T2"}).link("S", "T1", 100);
  const auto plan = m.plan();
  CHECK(plan.unreached() == std::vector<uint32_t>{m.at("T2")});
  CHECK(plan.latest() == 1120ms);
}

TEST_CASE("plan: it does not depend on the order of targets") {
  random_stream random(3, "order");
  for (int i = 0; i < 200; ++i) {
    auto p = random_multicast(random, network_kind::by_node, 3, 6);
    const auto plan = plan_multicast(p);
    auto turned = p;
    const auto n = p.size();
    const auto targets = n - p.sources;
    const auto from = [&](uint32_t node) {  // the last target comes first
      return node < p.sources ? node : p.sources + (node - p.sources + targets - 1) % targets;
    };
    for (uint32_t a = 0; a < n; ++a) {
      turned.nodes[a] = p.nodes[from(a)];
      for (uint32_t b = 0; b < n; ++b) turned.gbit_per_s[size_t{a} * n + b] = p.rate(from(a), from(b));
    }
    const auto again = plan_multicast(turned);
    for (uint32_t a = 0; a < n; ++a) CHECK(again.finish[a] == plan.finish[from(a)]);
  }
}
