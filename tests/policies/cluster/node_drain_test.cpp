#include "policies/cluster/node_drain.hpp"

#include <doctest/doctest.h>

#include "tests/policies/cluster/three_nodes.hpp"
#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {
const std::vector<node_id> both_peers{left_node, right_node}, no_peers;
}  // namespace

TEST_CASE("node_drain: a node leaves once it has no work and all peers that are up have acknowledged") {
  node_drain d(3);
  CHECK_FALSE(d.needs_round());
  CHECK(d.begin(at(10s)));
  CHECK_FALSE(d.begin(at(20s)));
  CHECK(d.draining());
  CHECK(d.needs_round());
  d.begin_round(2);
  CHECK_FALSE(d.needs_round());
  CHECK_FALSE(d.on_report(0, {}));
  CHECK(d.on_report(1, {}));
  d.on_ack(left_node);
  CHECK_FALSE(d.may_leave({left_node}));
  d.begin_round(1);
  CHECK(d.on_report(0, {}));
  CHECK_FALSE(d.may_leave(both_peers));
  d.on_ack(right_node);
  CHECK(d.may_leave(both_peers));
}

TEST_CASE("node_drain: it ends at its deadline with work left") {
  node_drain d(3);
  CHECK_FALSE(d.overdue(at(10s)));
  d.begin(at(10s));
  CHECK_FALSE(d.overdue(at(10s) - 1ns));
  CHECK(d.overdue(at(10s)));
}

TEST_CASE("node_drain: a leave notice is acknowledged once no actor has work with its node") {
  node_drain d(3);
  d.on_notice(left_node);
  CHECK(d.needs_round());
  d.begin_round(2);
  CHECK(d.under_way());
  CHECK_FALSE(d.on_report(5, {left_node}));
  CHECK(d.on_report(0, {right_node}));
  CHECK(d.take_acks(both_peers) == no_peers);
  d.begin_round(1);
  CHECK(d.on_report(5, {right_node}));
  CHECK(d.take_acks(both_peers) == std::vector{left_node});
  CHECK(d.take_acks(both_peers) == no_peers);
  CHECK_FALSE(d.needs_round());
  CHECK_FALSE(d.under_way());
  CHECK_FALSE(d.may_leave(no_peers));
}

TEST_CASE("node_drain: a round that began before a leave notice does not acknowledge it") {
  node_drain d(3);
  d.on_notice(left_node);
  d.begin_round(1);
  d.on_notice(right_node);
  CHECK(d.on_report(0, {}));
  CHECK(d.take_acks(both_peers) == std::vector{left_node});
  CHECK(d.needs_round());
  d.begin_round(1);
  CHECK(d.on_report(0, {}));
  CHECK(d.take_acks({left_node}) == no_peers);  // not up
  CHECK(d.take_acks(both_peers) == std::vector{right_node});
}

TEST_CASE("node_drain: an incarnation that has ended is neither waited for nor acknowledged") {
  node_drain d(3);
  d.begin(at(10s));
  d.on_notice(left_node);
  d.on_ack(left_node);
  d.forget(left_node);
  d.begin_round(1);
  CHECK(d.on_report(0, {}));
  CHECK(d.take_acks(both_peers) == no_peers);
  CHECK_FALSE(d.may_leave({left_node}));  // another incarnation of it
  CHECK(d.may_leave(no_peers));
  d.forget_all();
  CHECK(d.draining());
}

TEST_CASE("node_drain: a report outside of a round counts for nothing") {
  node_drain d(3);
  d.begin(at(10s));
  CHECK_FALSE(d.on_report(3, {left_node}));
  d.begin_round(0);
  CHECK(d.needs_round());
}
