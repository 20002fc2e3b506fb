// The decision log of a model queue: ℓ(b) = b + 5, SLO 12; a unit is 1 ms.
#include "tests/actors/run_command.hpp"
#include "tests/actors/tensor/queue_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct logging_queue : basic_queue_stage<> {
  explicit logging_queue(uint32_t remembered = 16, uint32_t may_wait = 100)
      : basic_queue_stage(options(remembered, may_wait)) {
    deliver(ready(0));
  }
  static model_queue::options options(uint32_t remembered, uint32_t may_wait) {
    auto o = paper_queue();
    o.max_queued_rows = may_wait;
    o.decision_log = remembered;
    return o;
  }

  batch_order grant_slot(uint64_t sequence, double free_at) {
    deliver(grant{model_id{0}, sequence, slot_id{0}, worker_of(0), at(free_at)}, the_arbiter);
    return out.one<batch_order>();
  }
  request_story story(uint64_t id) {
    return test::run_command<request_story>(*this, explain_request{request_id{id}});
  }
};

}  // namespace

TEST_CASE("decisions of a queue: a finished request has its arrival, its candidates and its batch") {
  logging_queue q;
  q.arrive(1);
  q.run_until(at(1));
  q.arrive(2);
  CHECK(q.story(2).state == "waiting");
  q.run_until(at(2));
  const auto order = q.grant_slot(2, 1.5);
  CHECK(q.story(2).state == "running");
  q.now = at(13);
  q.end(order);

  const auto s = q.story(2);
  CHECK(s.known);
  CHECK(s.state == "finished");
  CHECK(s.model_name == "m");
  CHECK(s.arrival == at(1));
  CHECK(s.taken_at == at(1));
  CHECK(s.deadline == at(13));
  CHECK(s.rows_ahead == 1);
  CHECK(s.arbiter == the_arbiter);
  REQUIRE(s.candidates.size() == 2);  // the one before its arrival, and the one after it
  CHECK(s.candidates[0].rows == 1);
  CHECK(s.candidates[0].exec_at == at(5));
  CHECK(s.candidates[1].at == at(1));
  CHECK(s.candidates[1].rows == 2);
  CHECK(s.candidates[1].latest == at(5));
  REQUIRE(s.batches.size() == 1);
  const auto& b = s.batches[0];
  CHECK(b.known);
  CHECK(b.batch == order.batch);
  CHECK(b.sequence == 2);
  CHECK(b.granted_at == at(2));
  CHECK(b.free_at == at(1.5));
  CHECK(b.rows == 2);
  CHECK(b.requests == 2);
  CHECK(b.exec_at == order.exec_at);
  CHECK(b.end == "done");
  CHECK(b.finished_at == at(13));
  CHECK(s.drops.empty());
}

TEST_CASE("decisions of a queue: a late drop has the rows and times of its infeasible batch") {
  logging_queue q;
  q.arrive(1);
  q.run_until(at(7));
  const auto s = q.story(1);
  CHECK(s.state == "dropped");
  REQUIRE(s.drops.size() == 1);
  const auto& d = s.drops[0];
  CHECK(d.reason == "late");
  CHECK(d.rule == "batching");
  CHECK(d.rows == 1);
  CHECK(d.at > at(6));  // the latest start of a batch of its own
  CHECK(d.at < at(6.1));
  CHECK(d.start == d.at);
  CHECK(d.finish == d.at + 6ms);
  CHECK(s.candidates.size() == 1);
}

TEST_CASE("decisions of a queue: a full queue records the waiting rows and the bound") {
  logging_queue q(16, 2);
  for (uint64_t id = 1; id <= 3; ++id) q.arrive(id);
  const auto s = q.story(3);
  REQUIRE(s.drops.size() == 1);
  CHECK(s.drops[0].reason == "queue_full");
  CHECK(s.drops[0].rule == "queue_bound");
  CHECK(s.drops[0].rows == 2);
  CHECK(s.rows_ahead == 2);
}

TEST_CASE("decisions of a queue: a refused batch has its reason, and is followed by the next attempt") {
  logging_queue q;
  q.arrive(1);
  q.end(q.grant_slot(1, 0), refusal::busy);
  const auto again = q.grant_slot(2, 0);
  auto s = q.story(1);
  REQUIRE(s.batches.size() == 2);
  CHECK(s.batches[0].end == "refused");
  CHECK(s.batches[0].why == "busy");
  CHECK(s.batches[0].attempt == 1);
  CHECK(s.batches[1].end == "running");
  CHECK(s.batches[1].attempt == 2);
  q.end(again, refusal::late);
  s = q.story(1);
  CHECK(s.state == "dropped");
  CHECK(s.drops.at(0).rule == "not_started");
  CHECK(s.batches.size() == 2);
}

TEST_CASE("decisions of a queue: a batch of a dead worker ends as crashed, and its request as dropped") {
  logging_queue q;
  q.arrive(1);
  q.grant_slot(1, 0);
  q.deliver(node_down{worker_node, {12}, true});
  const auto s = q.story(1);
  REQUIRE(s.batches.size() == 1);
  CHECK(s.batches[0].end == "worker_crashed");
  CHECK(s.drops.at(0).rule == "no_worker");
}

TEST_CASE(
    "decisions of a queue: the log records nothing until it is switched on, and then the given number") {
  logging_queue q(0);
  q.arrive(1);
  CHECK(q.story(1).known);  // it waits here
  CHECK(q.story(1).candidates.empty());
  q.grant_slot(1, 0);
  q.out.forget();
  run_command<acknowledged>(q, set_decision_log{4});
  CHECK(q.story(1).decision_log == 4);
  CHECK(q.story(1).state == "running");
  for (uint64_t id = 2; id <= 9; ++id) {
    q.run_until(q.now + 12ms);
    q.arrive(id);
    q.end(q.grant_slot(id, 0));
    q.out.forget();
  }
  CHECK_FALSE(q.story(5).known);
  CHECK(q.story(6).state == "finished");
  CHECK(q.story(9).state == "finished");
  CHECK_FALSE(q.story(77).known);
  const auto bad = q.actor.on_command({1, "set_decision_log", R"({"requests": 4000000000})"}, q.now);
  CHECK_FALSE(bad.ok);
  CHECK(bad.body == "set_decision_log.requests: must be at most 1048576");
}

TEST_CASE(
    "decisions of a queue: a preempted batch has its times, and a request too late for another is dropped") {
  logging_queue q;
  q.arrive(1);
  q.run_until(at(1));
  const auto order = q.grant_slot(1, 1);
  q.now = at(4);
  q.deliver(batch_done{order.batch, order.model, order.slot, refusal::preempted, 0, at(1), at(4), {}},
            worker_of(0));
  auto s = q.story(1);
  CHECK(s.state == "waiting");
  REQUIRE(s.batches.size() == 1);
  CHECK(s.batches[0].end == "preempted");
  CHECK(s.batches[0].started_at == at(1));
  CHECK(s.batches[0].finished_at == at(4));

  const auto again = q.grant_slot(2, 4);
  q.now = at(8);
  q.deliver(batch_done{again.batch, again.model, again.slot, refusal::preempted, 0, at(4), at(8), {}},
            worker_of(0));
  s = q.story(1);
  CHECK(s.state == "dropped");
  REQUIRE(s.drops.size() == 1);
  CHECK(s.drops[0].reason == "late");
  CHECK(s.drops[0].rule == "preempted");
  CHECK(s.drops[0].start == at(8));
  CHECK(s.drops[0].finish == at(14));
}

TEST_CASE("decisions of a queue: requests of a dead gateway are not recorded") {
  logging_queue q;
  q.arrive(1);
  q.deliver(node_down{gateway_node, {11}});
  CHECK_FALSE(q.story(1).known);
}

TEST_CASE("decisions of a queue: decisions of an earlier incarnation are kept in the next one") {
  logging_queue q;
  q.arrive(1);
  q.end(q.grant_slot(1, 0));
  q.deliver(new_incarnation{{40}});
  CHECK(q.story(1).state == "finished");
}
