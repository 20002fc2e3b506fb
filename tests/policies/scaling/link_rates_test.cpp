#include "policies/scaling/link_rates.hpp"

#include <doctest/doctest.h>

using namespace troupe;

namespace {

constexpr node_id fast{0}, slow{1}, far{2}, stray{3}, unlinked{4};

/// A leaf with an uplink of 40, another with one of 20, a node without a leaf, and one without a link.
cluster_spec linked_cluster() {
  cluster_spec c;
  for (const auto* name : {"fast", "slow", "far", "stray", "unlinked"}) {
    c.nodes.emplace_back();
    c.nodes.back().name = name;
  }
  const auto link = [&](const char* node, double rate, const char* leaf, double uplink) {
    c.links.push_back({{node}, rate, leaf, uplink});
  };
  link("fast", 100, "a", 40);
  link("slow", 25, "a", 40);
  link("far", 100, "b", 20);
  link("stray", 50, "", 0);
  return c;
}

}  // namespace

TEST_CASE("link rates: a flow has the rate of the slower interface, and of uplinks between two leaves") {
  const link_rates r(linked_cluster());
  CHECK(r.between(fast, slow) == 25);
  CHECK(r.between(slow, fast) == 25);
  CHECK(r.between(fast, far) == 20);
  CHECK(r.between(far, slow) == 20);
  CHECK(r.between(fast, stray) == 40);  // leaves the leaf
  CHECK(r.between(stray, far) == 20);
}

TEST_CASE("link rates: a leaf whose uplink is not given does not limit") {
  auto c = linked_cluster();
  for (auto& l : c.links) l.uplink_gbit_per_s = 0;
  const link_rates r(c);
  CHECK(r.between(fast, far) == 100);
  CHECK(r.between(stray, far) == 50);
}

TEST_CASE("link rates: a node without a link has the assumed rate, and no domain") {
  const link_rates r(linked_cluster());
  CHECK(r.between(fast, unlinked) == assumed_gbit_per_s);
  CHECK(r.between(unlinked, far) == assumed_gbit_per_s);
  CHECK(r.domain_of(unlinked) == no_scale_up_domain);
}

TEST_CASE("link rates: images use links but inside a node or a scale-up domain") {
  auto c = linked_cluster();
  CHECK(link_rates(c).uses_links(unlinked, stray));
  CHECK(link_rates(c).uses_links(fast, far));
  CHECK_FALSE(link_rates(c).uses_links(fast, fast));
  c.links[0].scale_up_domain = c.links[2].scale_up_domain = "nvlink 1";
  c.links[1].scale_up_domain = "nvlink 2";
  CHECK_FALSE(link_rates(c).uses_links(fast, far));
  CHECK(link_rates(c).uses_links(fast, slow));
}

TEST_CASE("link rates: nodes of a scale-up domain have its number, and the slowest domain counts") {
  auto c = linked_cluster();
  CHECK(link_rates(c).domain_gbit_per_s() == 0);
  c.links[0].scale_up_domain = c.links[2].scale_up_domain = "nvlink 1";
  c.links[1].scale_up_domain = "nvlink 2";
  c.links[0].scale_up_gbit_per_s = c.links[2].scale_up_gbit_per_s = 3600;
  c.links[1].scale_up_gbit_per_s = 2400;
  const link_rates r(c);
  CHECK(r.domain_of(fast) == r.domain_of(far));
  CHECK(r.domain_of(fast) != r.domain_of(slow));
  CHECK(r.domain_of(slow) != no_scale_up_domain);
  CHECK(r.domain_of(stray) == no_scale_up_domain);
  CHECK(r.domain_gbit_per_s() == 2400);
}

TEST_CASE("link rates: a link of several nodes gives each its rate") {
  cluster_spec c;
  c.nodes.resize(2);
  c.nodes[0].name = "a";
  c.nodes[1].name = "b";
  c.links.push_back({{"a", "b"}, 200});
  CHECK(link_rates(c).between(node_id{0}, node_id{1}) == 200);
}

TEST_CASE("link rates: a pair without a rate in the file has the one that was measured last") {
  cluster_spec c;
  c.nodes.resize(4);
  link_rates r(c);
  const node_id a{0}, b{1}, d{2}, e{3};
  CHECK(r.between(a, b) == assumed_gbit_per_s);
  r.learn(b, {{a, 40}}, 0);
  CHECK(r.between(a, b) == 40);
  SUBCASE("others have the slower one of both nodes' best rates, or the only one") {
    CHECK(r.between(b, a) == 40);
    CHECK(r.between(a, d) == 40);
    CHECK(r.between(d, e) == assumed_gbit_per_s);
    r.learn(b, {{d, 25}}, 0);
    CHECK(r.between(a, b) == 40);  // earlier rates of other peers stay
    CHECK(r.between(d, b) == 25);
    CHECK(r.between(a, d) == 25);
    CHECK(r.between(d, a) == 25);
    CHECK(r.between(e, b) == 40);
  }
  SUBCASE("a lower rate replaces a higher one, also as the best") {
    r.learn(b, {{a, 4}}, 0);
    CHECK(r.between(a, b) == 4);
    CHECK(r.between(d, a) == 4);
  }
  SUBCASE("a new process of the node that has measured nothing takes nothing back") {
    r.learn(b, {}, 0);
    CHECK(r.between(a, b) == 40);
  }
  SUBCASE("nodes that are not in the file, and rates that are none, are ignored") {
    r.learn(node_id{9}, {{a, 1}}, 1);
    r.learn(b, {{node_id{9}, 1}, {a, 0}, {d, -1}}, 0);
    CHECK(r.measured_links().size() == 1);
    CHECK(r.between(a, b) == 40);
  }
}

TEST_CASE("link rates: rates of the file count, measured or not") {
  link_rates r(linked_cluster());
  r.learn(slow, {{fast, 30}}, 0);
  CHECK(r.between(fast, slow) == 25);
  CHECK(r.between(unlinked, fast) == 30);  // by the other transfers of one of them
  r.learn(fast, {{unlinked, 400}}, 0);
  CHECK(r.between(unlinked, fast) == 40);  // the uplink of its leaf
  r.learn(stray, {{unlinked, 400}}, 0);
  CHECK(r.between(unlinked, stray) == 50);  // the interface
}

TEST_CASE("link rates: what was measured is listed by node, then by peer") {
  cluster_spec c;
  c.nodes.resize(3);
  link_rates r(c);
  r.learn(node_id{2}, {{node_id{0}, 3}, {node_id{1}, 4}}, 0);
  r.learn(node_id{0}, {{node_id{2}, 5}}, 7);
  const auto all = r.measured_links();
  REQUIRE(all.size() == 3);
  CHECK(all[0].from == node_id{2});
  CHECK(all[0].to == node_id{0});
  CHECK(all[0].gbit_per_s == 5);
  CHECK(all[1].from == node_id{0});
  CHECK(all[2].from == node_id{1});
  CHECK(r.measured_disk_gbit_per_s(node_id{0}) == 7);
  CHECK(r.measured_disk_gbit_per_s(node_id{1}) == 0);
}

TEST_CASE("link rates: the disk's rate is that of the file, over the bus, or else the measured one") {
  auto c = linked_cluster();
  link_rates r(c);
  CHECK(r.disk_gbit_per_s(fast) == 0);
  r.learn(fast, {}, 12);
  CHECK(r.disk_gbit_per_s(fast) == 12);
  r.learn(fast, {}, 0);
  CHECK(r.disk_gbit_per_s(fast) == 12);
  c.links[0].host_to_device_gbit_per_s = 5;
  CHECK(link_rates(c).disk_gbit_per_s(fast) == 0);
  c.links[0].ssd_gbit_per_s = 10;
  link_rates stated(c);
  stated.learn(fast, {}, 12);
  CHECK(stated.disk_gbit_per_s(fast) == 5);
  c.links[0].host_to_device_gbit_per_s = 0;
  CHECK(link_rates(c).disk_gbit_per_s(fast) == 10);
}
