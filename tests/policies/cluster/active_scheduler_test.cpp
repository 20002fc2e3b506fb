#include "policies/cluster/active_scheduler.hpp"

#include <doctest/doctest.h>

#include "tests/policies/cluster/three_nodes.hpp"
#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr node_id the_standby{1}, early_worker{2}, late_worker{3};

cluster_spec cluster_with(bool standby) {
  cluster_spec c;
  c.limits.takeover = 300ms;
  c.limits.node_timeout = 3s;
  for (const auto r : {node_role::scheduler, standby ? node_role::standby : node_role::gateway,
                       node_role::worker, node_role::worker})
    c.nodes.emplace_back().roles = {r};
  return c;
}

const cluster_spec without_standby = cluster_with(false), with_standby = cluster_with(true);
const leadership of_standby{{100}, the_standby, an_incarnation};

}  // namespace

TEST_CASE("active_scheduler: without standbys it is the scheduler's node, available while that is up") {
  active_scheduler s(without_standby, early_worker);
  s.begin(an_incarnation, at(0s));
  CHECK(s.node() == head_node);
  CHECK_FALSE(s.elected());
  CHECK_FALSE(s.available());
  s.up(head_node, an_incarnation);
  CHECK(s.available());
  s.leaving(head_node, an_incarnation);
  CHECK_FALSE(s.available());
  s.down(head_node, an_incarnation);
  s.up(head_node, {11});
  CHECK(s.available());
  s.begin({12}, at(1s));
  CHECK_FALSE(s.available());
  active_scheduler of_head(without_standby, head_node);
  of_head.begin(an_incarnation, at(0s));
  CHECK(of_head.available());
}

TEST_CASE("active_scheduler: without standbys there is no election") {
  active_scheduler s(without_standby, head_node);
  s.begin(an_incarnation, at(0s));
  CHECK_FALSE(s.learn(of_standby, at(0s)));
  CHECK_FALSE(s.decide(at(100s), long_ago));
  CHECK_FALSE(s.ping_due(at(100s)));
  CHECK(s.check_interval(50ms) == 50ms);
}

TEST_CASE("active_scheduler: it follows the latest term") {
  active_scheduler s(with_standby, early_worker);
  s.begin(an_incarnation, at(0s));
  CHECK(s.node() == head_node);
  CHECK(s.learn(of_standby, at(0s)));
  CHECK(s.node() == the_standby);
  CHECK_FALSE(s.available());
  s.up(the_standby, an_incarnation);
  CHECK(s.available());
  CHECK_FALSE(s.learn({{99}, head_node, an_incarnation}, at(0s)));
  CHECK_FALSE(s.learn({{101}, node_id{4}, an_incarnation}, at(0s)));  // of another cluster
  CHECK(s.node() == the_standby);
  CHECK(s.check_interval(50ms) == 50ms);  // never becomes the leader
}

TEST_CASE("active_scheduler: a candidate pings the leader every beat") {
  active_scheduler s(with_standby, head_node);
  s.begin(an_incarnation, at(0s));
  s.learn(of_standby, at(0s));
  CHECK_FALSE(s.ping_due(at(0s)));
  s.up(the_standby, an_incarnation);
  CHECK(s.ping_due(at(0s)));
  CHECK_FALSE(s.ping_due(at(29ms)));
  CHECK(s.ping_due(at(30ms)));
  CHECK(s.check_interval(50ms) == 30ms);
  CHECK(s.check_interval(20ms) == 20ms);
}

TEST_CASE("active_scheduler: the scheduler becomes the leader once it has met the standby") {
  active_scheduler s(with_standby, head_node);
  s.begin(an_incarnation, at(0s));
  CHECK_FALSE(s.decide(at(0s), long_ago));
  s.up(the_standby, an_incarnation);
  const auto t = s.decide(at(10ms), long_ago);
  REQUIRE(t);
  CHECK(t->scheduler == head_node);
  CHECK(s.learn(*t, at(10ms)));
  CHECK(s.election().is_leader());
  CHECK(s.available());
}

TEST_CASE("active_scheduler: the scheduler never yields, a standby yields before a worker") {
  const auto yields = [](node_id self, node_id other) {
    return active_scheduler(with_standby, self).yields_to(other, false);
  };
  CHECK_FALSE(yields(head_node, the_standby));
  CHECK(yields(the_standby, head_node));
  CHECK(yields(the_standby, early_worker));
  CHECK_FALSE(yields(early_worker, the_standby));
  CHECK(yields(late_worker, early_worker));
  CHECK_FALSE(yields(early_worker, late_worker));
  active_scheduler deposed(with_standby, head_node);
  deposed.begin(an_incarnation, at(0s));
  deposed.learn(of_standby, at(0s));
  CHECK(deposed.yields_to(the_standby, true));
}

TEST_CASE(
    "active_scheduler: with a majority a node keeps its leader, and its conflicts with the leader are "
    "clear") {
  active_scheduler follows(with_standby, early_worker), leads(with_standby, the_standby);
  CHECK_FALSE(follows.keeps_leader(4));
  for (auto* s : {&follows, &leads}) {
    s->begin(an_incarnation, at(0s));
    s->learn(of_standby, at(0s));
  }
  CHECK_FALSE(follows.keeps_leader(4));  // it is not up
  follows.up(the_standby, an_incarnation);
  CHECK(follows.keeps_leader(3));
  CHECK_FALSE(follows.keeps_leader(2));
  CHECK(follows.settles(the_standby, 1));
  CHECK_FALSE(follows.settles(late_worker, 4));
  CHECK(leads.settles(late_worker, 3));
  CHECK_FALSE(leads.settles(late_worker, 2));
  CHECK(leads.overrule({{200}, head_node, an_incarnation}));
  CHECK_FALSE(follows.overrule({{200}, head_node, an_incarnation}));
  const active_scheduler fixed(without_standby, head_node);
  CHECK(fixed.settles(late_worker, 1));
  CHECK_FALSE(fixed.keeps_leader(4));
}

TEST_CASE("active_scheduler: a node without the scheduler yields to one that has it") {
  active_scheduler connected(with_standby, late_worker), isolated(with_standby, early_worker);
  for (auto* s : {&connected, &isolated}) {
    s->begin(an_incarnation, at(0s));
    s->learn(of_standby, at(0s));
  }
  connected.up(the_standby, an_incarnation);
  CHECK_FALSE(connected.yields_to(early_worker, false));
  CHECK(isolated.yields_to(late_worker, true));
  CHECK(connected.yields_to(early_worker, true));  // both have it: the later one in the file
  CHECK_FALSE(isolated.yields_to(late_worker, false));
  CHECK(isolated.yields_to(the_standby, false));  // the scheduler itself, whatever its hello says
}

TEST_CASE(
    "active_scheduler: an ended leader is refused from a peer that has ended, too, by a node with a "
    "majority") {
  active_scheduler s(with_standby, early_worker);
  s.begin(an_incarnation, at(0s));
  const leadership of_head{{96}, head_node, an_incarnation};
  s.learn(of_head, at(0s));
  constexpr bool ended = true, told_by_peer = true;
  CHECK(s.accepts(of_standby, ended, !told_by_peer, 3));  // the leader that this node knows is not up
  s.up(head_node, an_incarnation);
  CHECK_FALSE(s.accepts(of_standby, ended, !told_by_peer, 3));
  CHECK(s.accepts(of_standby, ended, told_by_peer, 3));
  CHECK(s.accepts(of_standby, !ended, !told_by_peer, 3));
  CHECK(s.accepts(of_standby, ended, !told_by_peer, 2));  // no majority of four
  CHECK(s.accepts({}, ended, !told_by_peer, 3));
}
