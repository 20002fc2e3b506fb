#include "policies/scaling/multicast_groups.hpp"

#include <doctest/doctest.h>

#include "tests/policies/scaling/multicast_problems.hpp"

using namespace troupe;

using node_list = std::vector<uint32_t>;

TEST_CASE("groups: a domain with a source needs no network, even if that source is busy") {
  named_multicast m({"c0", "d"}, {"c2", "c1", "e"});
  m.mesh(100).domain(0, {"c0", "c1", "c2"});
  m.problem.nodes[0].busy = true;
  const grouped_multicast g(m.problem);
  REQUIRE(g.served.size() == 1);
  CHECK(g.served[0].leader == m.at("c0"));
  CHECK(g.served[0].followers == node_list{m.at("c1"), m.at("c2")});
  REQUIRE(g.groups.size() == 1);
  CHECK(g.groups[0].members == node_list{m.at("e")});
  CHECK(g.sources == node_list{m.at("d")});
  CHECK(g.pruned == node_list{m.at("c0")});
  CHECK(!g.half_rate_source);
}

TEST_CASE("groups: the first of sources that are all busy serves at half of its rate") {
  named_multicast m({"p", "q"}, {"t", "u"});
  m.mesh(100);
  for (const auto* busy : {"p", "q"}) m.problem.nodes[m.at(busy)].busy = true;
  const grouped_multicast g(m.problem);
  CHECK(g.half_rate_source);
  CHECK(g.sources == node_list{m.at("p")});
  CHECK(g.pruned == node_list{m.at("q")});
  CHECK(g.rate(m.at("p"), m.at("t")) == 50);
  CHECK(g.rate(m.at("t"), m.at("u")) == 100);
}

TEST_CASE("groups: links of a target that shares its NIC have half of their rate, once") {
  named_multicast m({"p"}, {"t", "u", "v"});
  m.mesh(100);
  m.problem.nodes[m.at("t")].half_rate = m.problem.nodes[m.at("u")].half_rate = true;
  const grouped_multicast g(m.problem);
  CHECK(g.rate(m.at("p"), m.at("t")) == 50);
  CHECK(g.rate(m.at("t"), m.at("v")) == 50);
  CHECK(g.rate(m.at("t"), m.at("u")) == 50);
  CHECK(g.rate(m.at("p"), m.at("v")) == 100);
}

TEST_CASE("groups: members with equal links count once, and the fastest from a source leads") {
  named_multicast m({"s"}, {"a2", "a1", "a0", "b"});
  m.mesh(100).domain(0, {"a0", "a1", "a2"});
  CHECK(grouped_multicast(m.problem).groups[0].leaders == node_list{m.at("a0")});
  m.link("s", "a1", 200).link("a2", "b", 300);
  grouped_multicast g(m.problem);
  CHECK(g.groups[0].leaders == node_list{m.at("a0"), m.at("a1"), m.at("a2")});
  g.choose_leaders();
  CHECK(g.groups[0].leaders == node_list{m.at("a1")});
  CHECK(g.groups[1].leaders == node_list{m.at("b")});
}
