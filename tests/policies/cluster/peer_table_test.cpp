#include "policies/cluster/peer_table.hpp"

#include <doctest/doctest.h>

#include "tests/policies/cluster/three_nodes.hpp"
#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Three nodes, of which this one is `head_node`, with a node timeout of one second.
struct peers_of_head : peer_table {
  peers_of_head() : peer_table(3, 1s) {}
  void meet(node_id n, incarnation_id incarnation = an_incarnation, time_point now = test::at(0s)) {
    CHECK(hear(n, incarnation, now));
    connect(n, incarnation, now);
  }
  void meet_fully(node_id n, incarnation_id incarnation = an_incarnation) {
    meet(n, incarnation);
    CHECK(synchronise(n, incarnation));
  }
  /// Checks at `now`, when the data lane last heard of every peer at `heard`.
  void check_all(time_point now, time_point heard) {
    check(now, [=](node_id) { return heard; });
  }
};

slot_ready slot_on(node_id n, incarnation_id incarnation) {
  return {slot_id{7}, {n, incarnation, role::gpu_worker, 7}, {}};
}

}  // namespace

TEST_CASE("peer_table: a peer is known from its hello on, and up once both clocks are known") {
  peers_of_head t;
  CHECK_FALSE(t.knows(left_node, an_incarnation));
  t.meet(left_node);
  CHECK(t.knows(left_node, an_incarnation));
  CHECK_FALSE(t.is_up(left_node));
  CHECK_FALSE(t.synchronise(left_node, its_successor));
  CHECK(t.synchronise(left_node, an_incarnation));
  CHECK_FALSE(t.synchronise(left_node, an_incarnation));
  CHECK(t.up() == std::vector{left_node});
  CHECK_FALSE(t.all_up());
  t.meet_fully(right_node);
  CHECK(t.all_up());
}

TEST_CASE("peer_table: an incarnation ends once, with its leave and its loss") {
  peers_of_head t;
  t.meet_fully(left_node);
  CHECK(t.leave(left_node));
  CHECK_FALSE(t.leave(left_node));
  t.lose(left_node, an_incarnation);
  const auto ended = t.take_ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].node == left_node);
  CHECK(ended[0].incarnation == an_incarnation);
  CHECK(ended[0].leaving);
  CHECK(ended[0].broken);
  CHECK(t.take_ended().empty());
  CHECK_FALSE(t.knows(left_node, an_incarnation));
  CHECK_FALSE(t.hear(left_node, an_incarnation, at(0s)));
  CHECK(t.latest(left_node) == an_incarnation);
}

TEST_CASE("peer_table: a peer that is forgotten while it connects has not ended") {
  peers_of_head t;
  t.meet(left_node);
  t.forget(left_node);
  CHECK_FALSE(t.knows(left_node, an_incarnation));
  t.check_all(at(1min), at(0s));
  CHECK(t.take_ended().empty());
  t.meet_fully(left_node);
  CHECK(t.is_up(left_node));
  t.lose(left_node, an_incarnation);
  CHECK(t.take_ended().size() == 1);
  t.meet(left_node, its_successor);
  t.forget(left_node);
  CHECK_FALSE(t.hear(left_node, an_incarnation, at(0s)));  // that one has
}

TEST_CASE("peer_table: a later incarnation of a peer ends the earlier one") {
  peers_of_head t;
  t.meet_fully(left_node);
  CHECK(t.hear(left_node, its_successor, at(0s)));
  const auto ended = t.take_ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].incarnation == an_incarnation);
  CHECK_FALSE(ended[0].broken);
  t.connect(left_node, its_successor, at(0s));
  CHECK(t.knows(left_node, its_successor));
}

TEST_CASE("peer_table: a peer that is up ends after a silence, a connecting one later") {
  peers_of_head t;
  t.meet_fully(left_node);
  t.meet(right_node);
  t.check_all(at(900ms), at(0s));
  CHECK(t.take_ended().empty());
  t.check_all(at(1s), at(0s));
  auto ended = t.take_ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].node == left_node);
  t.check_all(at(4900ms), at(0s));
  CHECK(t.take_ended().empty());
  t.check_all(at(5900ms), at(0s));
  ended = t.take_ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].node == right_node);
}

TEST_CASE("peer_table: a peer is silent if nothing came over the data lane while it connected") {
  peers_of_head t;
  t.meet(left_node);
  t.meet(right_node);
  const auto only_right = [](node_id n) { return n == right_node ? at(3500ms) : at(5ms); };
  t.check(at(3900ms), only_right);
  CHECK_FALSE(t.at(left_node).silent);
  t.check(at(4s), only_right);
  CHECK(t.at(left_node).silent);
  CHECK_FALSE(t.at(right_node).silent);
  CHECK(t.hear(left_node, its_successor, at(4s)));  // it gave up first
  const auto ended = t.take_ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].silent);
  t.connect(left_node, its_successor, at(4s));
  CHECK_FALSE(t.at(left_node).silent);
}

TEST_CASE("peer_table: slots of a connecting peer are kept until it is up") {
  peers_of_head t;
  CHECK_FALSE(t.take_slot(slot_on(left_node, an_incarnation)));
  t.meet(left_node);
  CHECK_FALSE(t.take_slot(slot_on(left_node, an_incarnation)));
  CHECK_FALSE(t.take_slot(slot_on(left_node, its_successor)));
  CHECK(t.synchronise(left_node, an_incarnation));
  CHECK(t.take_early_slots(left_node) == std::vector{slot_on(left_node, an_incarnation)});
  CHECK(t.take_early_slots(left_node).empty());
  CHECK(t.take_slot(slot_on(left_node, an_incarnation)));
  CHECK_FALSE(t.take_slot(slot_on(node_id{9}, an_incarnation)));
}

TEST_CASE("peer_table: a new incarnation starts without peers, and accepts their old incarnations") {
  peers_of_head t;
  t.meet_fully(left_node);
  t.lose(left_node, an_incarnation);
  t.clear();
  CHECK(t.take_ended().empty());
  CHECK(t.up().empty());
  t.meet_fully(left_node);
  CHECK(t.is_up(left_node));
}

TEST_CASE("peer_table: an ended incarnation insists if it says hello again after half a second") {
  peers_of_head t;
  t.meet_fully(left_node);
  CHECK_FALSE(t.has_ended(left_node, an_incarnation));
  t.lose(left_node, an_incarnation);
  CHECK(t.has_ended(left_node, an_incarnation));
  CHECK_FALSE(t.has_ended(left_node, its_successor));
  CHECK_FALSE(t.insists(left_node, an_incarnation, at(1s)));
  CHECK_FALSE(t.insists(left_node, an_incarnation, at(1499ms)));
  CHECK(t.insists(left_node, an_incarnation, at(1500ms)));
  CHECK_FALSE(t.insists(left_node, its_successor, at(2s)));
  t.clear();
  CHECK_FALSE(t.insists(left_node, its_successor, at(3s)));
}
