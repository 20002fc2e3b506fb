#include "policies/scaling/copy_sources.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "tests/policies/scaling/scaling_views.hpp"

using namespace troupe;

TEST_CASE("copy sources: without chains every node pulls from one that has all") {
  small_view v(6);
  v.view.policy = scaling_policy::blitz_network;
  v.image(0);
  v.image(1);
  CHECK(v.plan({to_node(2), to_node(3), to_node(4)}) == "0>2, 1>3, 0>4");
  v[1].images.clear();
  v.filling(1, 0);
  CHECK(v.plan({to_node(1), to_node(2)}) == "0>2");
  v[0].images.clear();
  v[1].images.clear();
  CHECK(v.plan({to_node(2), to_node(3), to_node(4)}) == "2>2, 2>3, 2>4");
  v.filling(2, 2);
  CHECK(v.plan({to_node(2), to_node(3), to_node(4)}) == "2>3, 2>4");
}

TEST_CASE("copy sources: pulls under way count, and a scale-up domain is faster than links") {
  small_view v(6);
  v.view.policy = scaling_policy::blitz_network;
  v.image(0);
  v.image(1);
  v.filling(2, 0);
  CHECK(v.plan({to_node(2), to_node(3)}) == "1>3");
  cluster_spec domains;
  domains.nodes.resize(6);
  for (uint32_t n = 0; n < 6; ++n) domains.nodes[n].name = std::to_string(n);
  domains.links.push_back({{"0", "3"}, 100});
  domains.links.back().scale_up_domain = "fast";
  domains.links.back().scale_up_gbit_per_s = 3600;
  CHECK(v.plan({to_node(2), to_node(3)}, &domains) == "0>3, -1");
}

TEST_CASE("copy sources: predictions of several pulls from one node share its rate") {
  small_view v(4);
  v.image(0);
  v.view.policy = scaling_policy::blitz_network;
  cluster_spec plain;
  plain.nodes.resize(4);
  const auto finish = [&](const std::vector<copy_target>& targets) {
    return plan_copies(v.view, targets, link_rates(plain)).places.back().finish;
  };
  const auto alone = finish({to_node(1)});
  CHECK(alone == 8ms);  // ten megabytes at 10 Gbit/s
  CHECK(finish({to_node(1), to_node(2)}) == 2 * alone);
  CHECK(finish({to_node(1), to_node(2), to_node(3)}) == 3 * alone);
}
