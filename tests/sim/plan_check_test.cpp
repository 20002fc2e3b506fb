#include "tools/sim/plan_check.hpp"

#include <doctest/doctest.h>

using namespace troupe;
using namespace troupe::sim;

namespace {

constexpr node_id pool_node{0};

/// A pool, five nodes, and what the check says.
struct plan_stage {
  plan_stage() {
    for (uint32_t n = 0; n < 6; ++n) {
      cluster.nodes.emplace_back();
      cluster.nodes.back().name = std::to_string(n);
    }
    check.emplace(broken, cluster);
    for (uint32_t n = 1; n < 6; ++n) deliver(node_up{{n}, {1}}, {pool_node, {}, role::node, 0});
  }
  void deliver(actor_message m, const address& from) {
    check->delivered(pool_node, {from, {pool_node, {}, role::parameter_pool, 0}, std::move(m)});
  }
  static image_state has(uint32_t model) { return {{model}, 4, 4, false, {}, 100}; }
  static image_state gets(uint32_t model, uint32_t from) { return {{model}, 4, 1, true, {from}, 100}; }
  void report(uint32_t node, std::vector<image_state> images, uint64_t term = 0) {
    deliver(shard_inventory{{node}, 1000, std::move(images), {term}},
            {{node}, {1}, role::parameter_shard, 0});
  }
  static envelope place(uint32_t to, uint32_t from, uint32_t model = 0) {
    return {{pool_node, {1}, role::parameter_pool, 0},
            {{to}, {}, role::parameter_shard, 0},
            place_copy{{0}, {model}, {from}}};
  }
  static envelope drop(uint32_t at, uint32_t model = 0) {
    return {{pool_node, {1}, role::parameter_pool, 0},
            {{at}, {}, role::parameter_shard, 0},
            drop_copy{{0}, {model}}};
  }
  /// Number of violations by these orders.
  size_t decide(std::vector<envelope> orders) {
    const auto before = broken.count();
    check->sent(pool_node, orders);
    return broken.count() - before;
  }

  duration now{};
  violations broken{now};
  cluster_spec cluster;
  std::optional<plan_check> check;
};

}  // namespace

TEST_CASE("plan check: under the policies of baselines") {
  plan_stage s;
  s.cluster.scaling.policy = scaling_policy::serverless;
  s.check.emplace(s.broken, s.cluster);
  for (uint32_t n = 1; n < 6; ++n) s.deliver(node_up{{n}, {1}}, {pool_node, {}, role::node, 0});
  s.report(1, {s.has(0)});
  CHECK(s.decide({s.place(2, 2)}) == 0);
  CHECK(s.decide({s.place(3, 1)}) == 1);  // it is to read its disk
  plan_stage stars;
  stars.cluster.scaling.policy = scaling_policy::blitz_network;
  stars.check.emplace(stars.broken, stars.cluster);
  for (uint32_t n = 1; n < 6; ++n) stars.deliver(node_up{{n}, {1}}, {pool_node, {}, role::node, 0});
  stars.report(1, {stars.has(0)});
  CHECK(stars.decide({stars.place(2, 1), stars.place(3, 1)}) == 0);
}

TEST_CASE("plan check: a chain is right, and two successors of a node are not") {
  plan_stage s;
  s.report(1, {s.has(0)});
  CHECK(s.decide({s.place(2, 1), s.place(3, 2)}) == 0);
  CHECK(s.decide({s.place(2, 1), s.place(3, 2)}) == 0);  // again
  CHECK(s.decide({s.place(4, 1)}) == 1);
  CHECK(s.broken.list().front().check == "plan");
}

TEST_CASE("plan check: followers count that inventories show, until they have all, or follow another node") {
  plan_stage s;
  s.report(1, {s.has(0)});
  s.report(2, {s.gets(0, 1)});
  CHECK(s.decide({s.place(3, 1)}) == 1);
  plan_stage t;
  t.report(1, {t.has(0)});
  t.report(2, {t.gets(0, 1)});
  SUBCASE("it has all") { t.report(2, {t.has(0)}); }
  SUBCASE("its node is down") { t.deliver(node_down{{2}, {1}}, {pool_node, {}, role::node, 0}); }
  SUBCASE("it gets another source by the same decision") {
    CHECK(t.decide({t.place(3, 1), t.place(2, 3)}) == 0);
    return;
  }
  SUBCASE("a new leader knows nothing") {
    t.deliver(leadership{{4}, pool_node, {1}}, {pool_node, {}, role::node, 0});
    t.report(2, {t.gets(0, 1)}, 3);
  }
  CHECK(t.decide({t.place(3, 1)}) == 0);
}

TEST_CASE("plan check: followers inside a scale-up domain do not use the link") {
  plan_stage s;
  s.cluster.links.push_back({{"1", "2", "3"}, 100, "", 0, "nvlink", 3600});
  s.check.emplace(s.broken, s.cluster);
  s.report(1, {s.has(0)});
  CHECK(s.decide({s.place(2, 1), s.place(3, 1), s.place(4, 1)}) == 0);
  CHECK(s.decide({s.place(5, 1)}) == 1);
}

TEST_CASE("plan check: a busy source is wrong while another one is free") {
  plan_stage s;
  s.report(1, {s.has(0), s.has(1)});
  s.report(2, {s.has(0)});
  s.report(3, {s.gets(1, 1)});
  SUBCASE("the other one is free") { CHECK(s.decide({s.place(4, 1)}) == 1); }
  SUBCASE("the other one is used") { CHECK(s.decide({s.place(4, 2)}) == 0); }
  SUBCASE("the other one feeds somebody") {
    CHECK(s.decide({s.place(5, 2)}) == 0);
    CHECK(s.decide({s.place(4, 1)}) == 0);
  }
  SUBCASE("the other one drops its images") { CHECK(s.decide({s.drop(2), s.place(4, 1)}) == 0); }
  SUBCASE("the busy one is a link of a chain") {
    s.report(1, {s.gets(0, 5), s.has(1)});
    CHECK(s.decide({s.place(4, 1)}) == 0);
  }
  SUBCASE("the transfer has ended") {
    s.report(3, {s.has(1)});
    CHECK(s.decide({s.place(4, 1)}) == 0);
  }
}
