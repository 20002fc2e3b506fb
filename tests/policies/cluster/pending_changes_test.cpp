#include "policies/cluster/pending_changes.hpp"

#include <doctest/doctest.h>

#include "tests/policies/cluster/small_deployments.hpp"
#include "tests/policies/common/moments.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// The commands that wait at `head_node`, three at most.
struct waiting : small_deployments {
  void add(time_point until = at(10s)) {
    pending.add(line(), until, [](const change_reply&) {});
  }
  /// The statuses of the waits that have ended.
  std::vector<change_reply> ended(time_point now = at(0s)) {
    std::vector<change_reply> out;
    for (auto& [reply, status] : pending.take_ended(table, progress, now)) out.push_back(status);
    return out;
  }
  pending_changes pending{cluster, head_node, 3};
};

}  // namespace

TEST_CASE("pending_changes: a wait ends once the change is complete") {
  waiting w;
  w.add();
  CHECK(w.ended().empty());
  CHECK_FALSE(w.pending.empty());
  w.apply_on_all();
  const auto ended = w.ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].complete);
  CHECK(w.pending.empty());
}

TEST_CASE("pending_changes: a wait ends with a failure, and at its bound") {
  waiting w;
  w.add(at(10s));
  w.add(at(20s));
  CHECK(w.pending.next_due() == at(10s));
  CHECK(w.ended(at(10s) - 1ns).empty());
  auto ended = w.ended(at(10s));
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].ok);
  CHECK_FALSE(ended[0].complete);
  CHECK(w.pending.next_due() == at(20s));
  w.apply_on(right_node, first_model, "too big");
  ended = w.ended(at(11s));
  REQUIRE(ended.size() == 1);
  CHECK_FALSE(ended[0].ok);
  CHECK(w.pending.next_due() == never);
}

TEST_CASE("pending_changes: a change that a later one undoes has failed") {
  waiting w;
  w.add();
  w.table.undeploy("a");
  w.add();
  auto ended = w.ended();
  REQUIRE(ended.size() == 1);
  CHECK_FALSE(ended[0].ok);
  CHECK(ended[0].detail == "model 'a' was undeployed meanwhile");
  w.table.retired(first_model);
  w.table.redeploy("a");
  ended = w.ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].detail == "model 'a' was deployed again meanwhile");
}

TEST_CASE("pending_changes: a move has failed if the model stays, and is complete in the new domain") {
  waiting w;
  w.table.move("a", 1);
  w.add();
  w.table.stay(first_model);
  auto ended = w.ended();
  REQUIRE(ended.size() == 1);
  CHECK_FALSE(ended[0].ok);
  CHECK(ended[0].detail == "model 'a' stays in its domain; the reason is in the log of node 'head'");
  w.table.move("a", 1);
  w.add();
  w.table.moved_on(first_model);
  w.table.moved_on(first_model);
  w.apply_on_all();
  ended = w.ended();
  REQUIRE(ended.size() == 1);
  CHECK(ended[0].complete);
}

TEST_CASE("pending_changes: all commands are given back when another node decides") {
  waiting w;
  w.add();
  w.add();
  CHECK_FALSE(w.pending.full());
  w.add();
  CHECK(w.pending.full());
  CHECK(w.pending.take_all().size() == 3);
  CHECK(w.pending.empty());
}
