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
