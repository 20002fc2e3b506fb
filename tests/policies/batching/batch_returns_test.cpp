#include "policies/batching/batch_returns.hpp"

#include "tests/policies/batching/a_request_queue.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// Requests 1 (of 0 ms) and 2 (of 3 ms) have left as a batch at 3 ms.
struct returning_queue : a_request_queue {
  returning_queue() {
    arrive(a_request(1, 0), 0);
    arrive(a_request(2, 3), 3);
    lost = leave(7, 3).in_flight;
  }
  in_flight_batch lost;
};

batch_done done(double at, refusal why = refusal::none) {
  batch_done d;
  d.refused = why;
  d.finished_at = ms(at);
  return d;
}

}  // namespace

TEST_CASE("finish_batch: requests that ran are released, and counted by their own deadlines") {
  returning_queue q;
  finish_batch(q, q.lost, done(11), ms(11));
  CHECK(q.counted().good == 2);
  CHECK_FALSE(q.table().holds(q.lost.handles[0]));
  returning_queue late;
  finish_batch(late, late.lost, done(13), ms(13));
  const auto counts = late.counted();
  CHECK(counts.good == 1);
  CHECK(counts.bad == 1);
  CHECK(late.flushed(13).empty());
}

TEST_CASE("finish_batch: a batch that its worker could not start in time is dropped") {
  returning_queue q;
  finish_batch(q, q.lost, done(4, refusal::late), ms(4));
  CHECK(q.flushed(4) == drop_list{{1, drop_reason::late}, {2, drop_reason::late}});
  CHECK(q.ends().log.drop_of(request_id{1})->grounds.rule == drop_rule::not_started);
}

TEST_CASE("resubmit_batch: requests are queued with one more attempt, until they have come back too often") {
  returning_queue q;
  for (uint32_t returned = 1; returned <= 2; ++returned) {
    CHECK(resubmit_batch(q, q.lost, 3, ms(3)) == 2);
    const auto again = q.leave(8, 3);
    REQUIRE(ids_of(again.requests) == ids{1, 2});
    CHECK(again.requests[0].attempt == 1 + returned);
  }
  CHECK(resubmit_batch(q, q.lost, 3, ms(3)) == 2);
  CHECK(q.flushed(3) == drop_list{{1, drop_reason::no_capacity}, {2, drop_reason::no_capacity}});
  CHECK(q.ends().log.drop_of(request_id{1})->grounds.rule == drop_rule::attempts);
  CHECK(q.ends().log.drop_of(request_id{1})->what.attempt == 4);
}

TEST_CASE("resubmit_batch: requests of a worker that died wait for their poison retries") {
  returning_queue q;
  note_loss(q, q.lost, worker_loss::worker_crashed, ms(2));
  CHECK(resubmit_batch(q, q.lost, 3, ms(3)) == 2);
  CHECK(q.policy().queued_requests() == 0);
  REQUIRE(q.retries().size() == 2);
  const auto again = q.take_poison_retry(batch_id{8});
  CHECK(again.requests[0].attempt == 2);
  SUBCASE("a refusal adds another retry") {
    resubmit_batch(q, again.in_flight, 3, ms(3));
    CHECK(q.retries().size() == 2);
  }
  SUBCASE("a preemption adds another retry") {
    run_batch_again(q, again.in_flight, ms(3));
    CHECK(q.retries().size() == 2);
  }
  SUBCASE("a second crash makes it poison") {
    const auto verdict = judge_poison_retry(q, again.in_flight, worker_loss::worker_crashed);
    REQUIRE(verdict);
    CHECK(verdict->what.id == request_id{1});
    CHECK(verdict->why == failure::poison);
    CHECK_FALSE(q.table().holds(again.in_flight.handles[0]));
  }
  SUBCASE("another loss does not make it poison") {
    const auto verdict = judge_poison_retry(q, again.in_flight, worker_loss::worker_lost);
    REQUIRE(verdict);
    CHECK(verdict->why == failure::worker_lost);
  }
  SUBCASE("no drop is sent if the gateway is gone") {
    forget_gateway(q, first_gateway.node, first_gateway.incarnation);
    CHECK_FALSE(judge_poison_retry(q, again.in_flight, worker_loss::worker_crashed));
    CHECK_FALSE(q.table().holds(again.in_flight.handles[0]));
  }
}

TEST_CASE("note_loss: the requests of a lost batch are suspects, by gateway") {
  constexpr address other_gateway{node_id{2}, {12}, role::gateway, 0},
      gone{node_id{3}, {13}, role::gateway, 0};
  a_request_queue q;
  for (const auto& [id, gateway] :
       {std::pair{1, first_gateway}, {2, other_gateway}, {3, gone}, {4, first_gateway}})
    q.arrive(a_request(id, 0, 1, gateway), 0);
  const auto lost = q.leave(7, 0).in_flight;
  forget_gateway(q, gone.node, gone.incarnation);
  using enum worker_loss;
  const std::vector<std::pair<address, suspects>> expected = {
      {first_gateway, {worker_crashed, {request_id{1}, request_id{4}}}},
      {other_gateway, {worker_crashed, {request_id{2}}}}};
  CHECK(note_loss(q, lost, worker_crashed, ms(1)) == expected);
}

TEST_CASE("note_loss: requests that a new incarnation of their gateway sends again are suspects, too") {
  constexpr address before{node_id{3}, {13}, role::gateway, 0}, after{node_id{3}, {14}, role::gateway, 0};
  using enum worker_loss;
  a_request_queue q;
  for (const int id : {1, 2, 3}) q.arrive(a_request(id, 0, 1, before), 0);
  const auto lost = q.leave(7, 0).in_flight;
  forget_gateway(q, before.node, before.incarnation);
  q.arrive(a_request(1, 0, 1, after), 0);
  const auto again = q.leave(8, 0).in_flight;  // in a batch on another worker
  q.arrive(a_request(2, 0, 1, after), 0);      // waits
  const std::vector<std::pair<address, suspects>> expected = {
      {after, {worker_crashed, {request_id{1}, request_id{2}}}}};
  CHECK(note_loss(q, lost, worker_crashed, ms(1)) == expected);
  CHECK(q.policy().queued_requests() == 0);
  REQUIRE(q.retries().size() == 1);
  CHECK(q.take_poison_retry(batch_id{9}).requests[0].id == request_id{2});
  CHECK(resubmit_batch(q, again, 3, ms(2)) == 1);
  REQUIRE(q.retries().size() == 1);
  CHECK(q.take_poison_retry(batch_id{10}).requests[0].id == request_id{1});
  CHECK(q.loss_of(request_id{3}) == worker_crashed);  // not here yet
  CHECK(q.loss_of(request_id{2}) == none);
}

TEST_CASE("run_batch_again: a stopped batch is queued again any number of times") {
  returning_queue q;
  for (int times = 0; times < 5; ++times) {
    CHECK(run_batch_again(q, q.lost, ms(3)) == 2);
    CHECK(ids_of(q.leave(8, 3).requests) == ids{1, 2});
  }
  CHECK(resubmit_batch(q, q.lost, 3, ms(3)) == 2);
  CHECK(q.flushed(3).empty());
}

TEST_CASE("run_batch_again: requests that cannot be in time any more are dropped, the others are not") {
  returning_queue q;
  CHECK(run_batch_again(q, q.lost, ms(7)) == 2);
  CHECK(q.flushed(7) == drop_list{{1, drop_reason::late}});
  const auto d = q.ends().log.drop_of(request_id{1});
  CHECK(d->grounds.rule == drop_rule::preempted);
  CHECK(d->grounds.start == ms(7));
  CHECK(d->grounds.end == ms(13));
  CHECK(q.policy().queued_requests() == 1);
  returning_queue without_slots;
  without_slots.set_slots({});
  run_batch_again(without_slots, without_slots.lost, ms(3));
  CHECK(without_slots.flushed(3).size() == 2);
}

TEST_CASE("forget_gateway: requests of that incarnation only, those in flight when their batch is back") {
  returning_queue q;
  q.arrive(a_request(3, 3), 3);
  q.queue_alone(q.keep(a_request(4, 3), ms(3)), ms(3));
  q.arrive(a_request(5, 3, 1, {node_id{2}, {11}, role::gateway, 0}), 3);
  q.arrive(a_request(6, 3, 1, {node_id{1}, {12}, role::gateway, 0}), 3);
  CHECK(forget_gateway(q, node_id{1}, {11}) == 4);
  CHECK(q.table().holds(q.lost.handles[0]));
  CHECK(q.retries().empty());
  SUBCASE("it is refused") { CHECK(resubmit_batch(q, q.lost, 3, ms(3)) == 0); }
  SUBCASE("it is stopped") { CHECK(run_batch_again(q, q.lost, ms(3)) == 0); }
  SUBCASE("it is late") { finish_batch(q, q.lost, done(4, refusal::late), ms(4)); }
  CHECK_FALSE(q.table().holds(q.lost.handles[0]));
  CHECK(q.flushed(4).empty());
  CHECK(ids_of(q.leave(8, 4).requests) == ids{5, 6});
}
