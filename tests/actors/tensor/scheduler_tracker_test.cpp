#include "actors/tensor/scheduler_tracker.hpp"

#include "tests/actors/leaders.hpp"

using namespace troupe;
using namespace troupe::test;
using tracker_effect = scheduler_tracker::effect;

namespace {

constexpr incarnation_id first_up{10};
constexpr time_point at_start{100s};

scheduler_tracker tracker_with_standby() {
  return scheduler_tracker(scheduler_node, {scheduler_node, standby_node});
}

}  // namespace

TEST_CASE("scheduler tracker: without standbys one node schedules while it is up") {
  scheduler_tracker s(scheduler_node);
  CHECK_FALSE(s.accepts(at_start));
  CHECK(s.on_node_up(worker_node, {12}) == tracker_effect::none);
  CHECK_FALSE(s.up());
  CHECK(s.on_node_up(scheduler_node, first_up) == tracker_effect::resubmit);  // there is nothing yet
  CHECK(s.up());
  CHECK(s.on_node_down(worker_node, {12}) == tracker_effect::none);
  CHECK(s.up());
  CHECK(s.on_node_leaving(scheduler_node, first_up) == tracker_effect::none);
  CHECK_FALSE(s.accepts(at_start));  // it finishes its requests, and takes no new ones
  CHECK(s.on_node_down(scheduler_node, first_up) == tracker_effect::lost);
  CHECK_FALSE(s.outdated({standby_node, {1}, role::model_queue, 0}));
}

TEST_CASE("scheduler tracker: with standbys requests are accepted before there is a leader") {
  auto s = tracker_with_standby();
  CHECK_FALSE(s.accepts(at_start));
  CHECK(s.on_node_up(worker_node, {12}) == tracker_effect::none);
  CHECK_FALSE(s.accepts(at_start));  // no candidate
  CHECK(s.on_node_up(standby_node, standby_incarnation) == tracker_effect::none);
  CHECK(s.accepts(at_start));
  CHECK_FALSE(s.up());
  CHECK(s.on_leadership(second) == tracker_effect::resubmit);
  CHECK(s.up());
  CHECK(s.scheduler() == standby_node);
  CHECK(s.on_leadership(second) == tracker_effect::none);  // repeated
  CHECK(s.on_leadership(first) == tracker_effect::none);   // an earlier term
  CHECK(s.scheduler() == standby_node);
}

TEST_CASE("scheduler tracker: a leader counts once its incarnation is up") {
  auto s = tracker_with_standby();
  CHECK(s.on_leadership(second) == tracker_effect::none);
  CHECK_FALSE(s.up());
  CHECK(s.on_node_up(standby_node, {29}) == tracker_effect::none);  // an earlier incarnation
  CHECK_FALSE(s.up());
  CHECK(s.on_node_up(standby_node, standby_incarnation) == tracker_effect::resubmit);
  CHECK(s.up());
}

TEST_CASE("scheduler tracker: requests are lost with the last candidate, not before") {
  auto s = tracker_with_standby();
  s.on_node_up(scheduler_node, first_up);
  s.on_node_up(standby_node, standby_incarnation);
  CHECK(s.on_leadership(first) == tracker_effect::resubmit);
  CHECK(s.on_node_down(scheduler_node, {9}) == tracker_effect::none);  // an incarnation of the past
  CHECK(s.up());
  CHECK(s.on_node_down(scheduler_node, first_up) == tracker_effect::none);
  CHECK_FALSE(s.up());
  CHECK(s.accepts(at_start));
  CHECK(s.on_node_down(standby_node, standby_incarnation) == tracker_effect::lost);
  CHECK_FALSE(s.accepts(at_start));
}

TEST_CASE("scheduler tracker: a leader that left loses its requests when it goes down") {
  auto s = tracker_with_standby();
  s.on_node_up(scheduler_node, first_up);
  s.on_leadership(first);
  CHECK(s.on_node_leaving(scheduler_node, first_up) == tracker_effect::none);
  CHECK_FALSE(s.up());
  CHECK(s.on_node_down(scheduler_node, first_up) == tracker_effect::lost);
}

TEST_CASE("scheduler tracker: queues of other nodes or incarnations are outdated, workers never") {
  auto s = tracker_with_standby();
  s.on_leadership(first);
  CHECK_FALSE(s.outdated(the_queue));
  CHECK_FALSE(s.outdated({scheduler_node, {}, role::model_queue, 0}));  // any incarnation
  CHECK(s.outdated({scheduler_node, {9}, role::model_queue, 0}));
  CHECK(s.outdated(standby_queue));
  CHECK_FALSE(s.outdated(worker_of(0)));
}

TEST_CASE(
    "scheduler tracker: a new incarnation of the own node keeps the leader, and waits for its node again") {
  auto s = tracker_with_standby();
  s.on_node_up(scheduler_node, first_up);
  s.on_leadership(first);
  s.clear(at_start + 3s);
  CHECK_FALSE(s.up());
  CHECK(s.accepts(at_start));
  CHECK(s.accepts(at_start + 2999ms));
  CHECK_FALSE(s.accepts(at_start + 3s));                  // nobody has come back
  CHECK(s.on_leadership(first) == tracker_effect::none);  // known already
  CHECK(s.on_node_up(scheduler_node, first_up) == tracker_effect::resubmit);
}

TEST_CASE(
    "scheduler tracker: a scheduler that is expected is not lost with a candidate that did not come up") {
  auto s = tracker_with_standby();
  s.on_node_up(scheduler_node, first_up);
  s.on_leadership(first);
  s.clear(at_start + 3s);
  CHECK(s.on_node_down(scheduler_node, first_up) == tracker_effect::none);
  CHECK(s.accepts(at_start));
  scheduler_tracker alone(scheduler_node);
  CHECK_FALSE(alone.accepts(at_start));
  CHECK(alone.on_node_up(scheduler_node, first_up) == tracker_effect::resubmit);
  alone.clear(at_start + 3s);
  CHECK(alone.on_node_down(scheduler_node, first_up) == tracker_effect::none);
  CHECK(alone.accepts(at_start));
  CHECK(alone.on_node_up(scheduler_node, first_up) == tracker_effect::resubmit);
  CHECK(alone.on_node_down(scheduler_node, first_up) == tracker_effect::lost);
  CHECK_FALSE(alone.accepts(at_start));
}
