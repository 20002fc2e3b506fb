#include "policies/batching/request_queue.hpp"

#include "policies/batching/batch_returns.hpp"
#include "policies/registry/batchings.hpp"
#include "tests/policies/batching/a_request_queue.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("a request_queue's batch has the requests of the policy's window, and their first deadline") {
  a_request_queue q;
  const auto second = q.arrive(a_request(2, 1), 1);
  const auto first = q.arrive(a_request(1, 0, 2), 1);
  const auto b = q.leave(7, 2);
  CHECK(ids_of(b.requests) == ids{1, 2});
  CHECK(b.rows == 3);
  CHECK(b.in_flight.handles == std::vector<uint32_t>{first, second});
  CHECK(b.in_flight.first_deadline == ms(12));
  CHECK_FALSE(b.in_flight.alone);
  CHECK(q.policy().queued_requests() == 0);
  CHECK(q.table().holds(first));                        // until it is back
  CHECK(q.ends().log.grants_of(first, ms(0)).empty());  // the batch has not begun
}

TEST_CASE("a request_queue without slots gives requests up, whether they come or wait") {
  a_request_queue q;
  q.arrive(a_request(1, 0), 0);
  q.queue_alone(q.keep(a_request(2, 0), ms(0)), ms(0));
  q.set_slots({});
  q.arrive(a_request(3, 1), 1);
  q.queue_alone(q.keep(a_request(4, 1), ms(1)), ms(1));
  CHECK(q.flushed(1) == drop_list{{3, drop_reason::no_capacity}, {4, drop_reason::no_capacity}});
  q.policy().update(ms(7), long_ago);
  q.give_up_late_retries(ms(7));
  CHECK(q.flushed(7) == drop_list{{2, drop_reason::no_capacity}, {1, drop_reason::no_capacity}});
  CHECK(q.counted().bad == 4);
}

TEST_CASE("a request_queue refuses infeasible requests, and does not count them as overload") {
  a_request_queue q;
  auto hasty = a_request(1, 0);
  hasty.deadline = ms(5.9);
  q.arrive(hasty, 0);
  CHECK(q.flushed(0) == drop_list{{1, drop_reason::late}});
  CHECK(q.counted().bad == 0);
  const auto d = q.ends().log.drop_of(request_id{1});
  REQUIRE(d);
  CHECK(d->grounds.end == ms(6));
}

TEST_CASE("a request_queue is bounded in rows, except for a request to an empty queue and a returned one") {
  a_request_queue q(3);
  q.arrive(a_request(1, 0, 5), 0);
  q.arrive(a_request(2, 0), 0);
  CHECK(q.flushed(0) == drop_list{{2, drop_reason::queue_full}});
  CHECK(q.ends().log.drop_of(request_id{2})->grounds.rows == 3);
  q.queue_again(q.keep(a_request(3, 0), ms(0)), ms(0));
  CHECK(q.policy().queued_rows() == 6);
}

TEST_CASE("a request_queue gives up requests by a condition, queued ones before poison retries") {
  a_request_queue q;
  q.queue_alone(q.keep(a_request(1, 0), ms(0)), ms(0));
  for (uint64_t id = 2; id <= 4; ++id) q.arrive(a_request(id, 0), 0);
  const auto odd = [](const request& r) { return r.id.value % 2 == 1; };
  q.give_up_if(odd, drop_reason::cancelled, {drop_rule::cancelled}, ms(1));
  CHECK(q.flushed(1) == drop_list{{3, drop_reason::cancelled}, {1, drop_reason::cancelled}});
  CHECK(q.release_if([](const request&) { return true; }) == 2);
  CHECK(q.flushed(1).empty());
  CHECK(q.counted().bad == 0);
}

TEST_CASE("a request_queue gives up requests that the policy sheds, and logs the batch of the decision") {
  a_request_queue q;
  q.arrive(a_request(1, 0), 0);
  q.policy().update(ms(6.5), long_ago);
  CHECK(q.flushed(6.5) == drop_list{{1, drop_reason::late}});
  const auto d = q.ends().log.drop_of(request_id{1});
  REQUIRE(d);
  CHECK(d->grounds.rule == drop_rule::batching);
  CHECK(d->grounds.rows == 1);
  CHECK(d->grounds.end == ms(12.5));
}

TEST_CASE("a request_queue's poison retry is a batch of its own, dropped when it is too late") {
  a_request_queue q;
  const auto first = q.keep(a_request(1, 0, 2), ms(0));
  q.queue_alone(first, ms(0));
  q.queue_alone(q.keep(a_request(2, 0), ms(0)), ms(0));
  const auto b = q.take_poison_retry(batch_id{7});
  CHECK(b.rows == 2);
  CHECK(ids_of(b.requests) == ids{1});
  CHECK(b.in_flight.alone);
  CHECK(b.in_flight.handles == std::vector<uint32_t>{first});
  q.give_up_late_retries(ms(6));
  CHECK(q.flushed(6).empty());
  q.give_up_late_retries(ms(6.1));
  CHECK(q.flushed(6.1) == drop_list{{2, drop_reason::late}});
  CHECK(q.retries().empty());
}

TEST_CASE("a cleared request_queue reports nothing, and keeps its decision log") {
  a_request_queue q;
  q.arrive(a_request(1, 0), 0);
  const auto b = q.leave(7, 0);
  q.arrive(a_request(2, 0), 0);
  q.queue_alone(q.keep(a_request(3, 0), ms(0)), ms(0));
  q.drop(a_request(4, 0), drop_reason::queue_full);
  q.forget_all();
  CHECK(q.flushed(0).empty());
  CHECK(q.policy().queued_requests() == 0);
  CHECK(q.retries().empty());
  CHECK_FALSE(q.table().holds(b.in_flight.handles.front()));
  CHECK(q.table().find(request_id{1}));
  CHECK(q.ends().dropped.count(drop_reason::queue_full) == 1);
}

TEST_CASE("a request_queue's requests go over to another policy, by the SLO as it is now") {
  a_request_queue q;
  q.set_slots({1, 1, {2ms, 5ms}, false});
  q.arrive(a_request(1, 0), 0);
  q.set_slo(10ms);
  q.set_policy(std::make_unique<eager>(paper(), shedding::timeout), ms(1));
  CHECK(q.policy().latency() == latency_model{2ms, 5ms});
  q.policy().update(ms(1), long_ago);
  CHECK(q.policy().window().latest == ms(3));
  CHECK(ids_of(q.leave(7, 1).requests) == ids{1});
}

TEST_CASE("a request_queue plans with the slots' latency, unless it is given") {
  a_request_queue q;
  q.set_slots({2, 0, {3ms, 4ms}, false});
  CHECK(q.slots() == 2);
  CHECK(q.policy().latency() == latency_model{3ms, 4ms});
  q.set_slots({});
  CHECK(q.policy().latency() == latency_model{3ms, 4ms});
  request_queue given({{}, 100, true, 0, {}}, std::make_unique<deferred>(paper(), shedding::timeout));
  given.set_slots({2, 2, {3ms, 4ms}, false});
  CHECK(given.policy().latency() == latency_model{1ms, 5ms});
}

namespace {

/// Its latencies are learnt, up to `max`.
struct a_learning_queue : request_queue {
  explicit a_learning_queue(duration max) : request_queue({{}, 100, true, 0, {}}, learning(max)) {
    set_slots({1, 1, {3ms, 2ms}, false});
  }
  static std::unique_ptr<batching_policy> learning(duration max) {
    auto p = paper();
    p.by_shape = true;
    p.max_learned_latency = max;
    return make_batching("deferred", "timeout", p);
  }
};

}  // namespace

TEST_CASE("request queue: without a measurement, latencies are learnt from the batches that ran, by shape") {
  a_learning_queue q(6ms);
  CHECK(q.policy().latency_of(5) == latency_model{{}, 1ms});
  auto r = a_request(1, 0, 2);
  r.shape_class = 5;
  r.deadline = ms(100);
  q.queue_up(q.keep(r, ms(0)), ms(0));
  q.policy().update(ms(0), long_ago);
  auto left = q.take_batch(batch_id{1}, ms(0));
  REQUIRE(left.requests.size() == 1);
  batch_done done;
  done.rows = 2;
  done.started_at = ms(0);
  done.finished_at = ms(4);
  finish_batch(q, left.in_flight, done, ms(4));
  CHECK(q.policy().latency_of(5) == latency_model{2ms, {}});
  q.set_slots({2, 2, {3ms, 2ms}, true});
  CHECK(q.policy().latency_of(5) == latency_model{2ms, {}});
}

TEST_CASE("request queue: a slow shape makes the queue refuse neither other requests, nor its own for good") {
  a_learning_queue q(11ms);
  auto slow = a_request(1, 0), hurried = a_request(2, 100);
  slow.shape_class = 1;
  slow.input.size = 1 << 20;
  hurried.shape_class = 2;
  hurried.deadline = ms(105);
  const auto admitted = [&](const request& r) {
    const auto before = q.policy().queued_requests();
    q.queue_up(q.keep(r, ms(100)), ms(100));
    return q.policy().queued_requests() > before;
  };
  slow.arrival = ms(100);
  slow.deadline = ms(200);
  REQUIRE(admitted(slow));
  in_flight_batch ran;
  ran.handles = {q.keep(slow, ms(100))};
  q.learn(ran, 50ms);
  CHECK(q.policy().latency()(1) > 10ms);
  CHECK(admitted(hurried));
  slow.deadline = ms(105);
  for (int i = 0; i < 63; ++i) CHECK_FALSE(admitted(slow));
  CHECK(admitted(slow));
}

namespace {

/// A queue without slots, which expects some until 10 ms.
struct expecting_queue : a_request_queue {
  explicit expecting_queue(uint32_t max_queued_rows = 100) : a_request_queue(max_queued_rows) {
    model_slots none;
    none.expected_until = ms(10);
    set_slots(none);
  }
  void place(double at) { place_waiting(ms(at)); }
};

}  // namespace

TEST_CASE("a request_queue that expects slots lets requests wait for the first one") {
  expecting_queue q;
  q.arrive(a_request(1, 0), 0);
  q.arrive(a_request(2, 1), 1);
  q.place(1);
  CHECK(q.waiting_for_slot() == 2);
  CHECK(q.waiting_due() == ms(10));
  CHECK(q.policy().queued_requests() == 0);
  q.set_slots({1, 1, {1ms, 5ms}, true});
  q.place(3);
  CHECK(q.waiting_for_slot() == 0);
  CHECK(q.waiting_due() == never);
  CHECK(ids_of(q.leave(7, 3).requests) == ids{1, 2});
  CHECK(q.flushed(3).empty());
}

TEST_CASE("a request_queue drops requests that wait for a slot in vain") {
  SUBCASE("no slot comes") {
    expecting_queue q;
    q.arrive(a_request(1, 0), 0);
    q.place(9.9);
    CHECK(q.flushed(9.9).empty());
    q.place(10);
    CHECK(q.flushed(10) == drop_list{{1, drop_reason::no_capacity}});
  }
  SUBCASE("no slot is expected any more") {
    expecting_queue q;
    q.arrive(a_request(1, 0), 0);
    q.set_slots({});
    q.place(1);
    CHECK(q.flushed(1) == drop_list{{1, drop_reason::no_capacity}});
  }
  SUBCASE("the deadline passes") {
    expecting_queue q;
    auto hasty = a_request(1, 0);
    hasty.deadline = ms(4);
    q.arrive(hasty, 0);
    q.arrive(a_request(2, 0), 0);
    CHECK(q.waiting_due() == ms(4));
    q.place(4);
    CHECK(q.flushed(4) == drop_list{{1, drop_reason::late}});
    CHECK(q.waiting_due() == ms(10));
  }
  SUBCASE("a slot comes too late") {
    expecting_queue q;
    q.arrive(a_request(1, 0), 0);
    q.set_slots({1, 1, {1ms, 5ms}, true});
    q.place(6.5);
    q.policy().update(ms(6.5), long_ago);
    CHECK(q.flushed(6.5) == drop_list{{1, drop_reason::late}});
  }
  SUBCASE("too many wait") {
    expecting_queue q(2);
    for (uint64_t id = 1; id <= 3; ++id) q.arrive(a_request(id, 0), 0);
    CHECK(q.flushed(0) == drop_list{{3, drop_reason::queue_full}});
  }
  SUBCASE("they are cancelled, or their gateway has gone") {
    expecting_queue q;
    for (uint64_t id = 1; id <= 3; ++id) q.arrive(a_request(id, 0), 0);
    q.give_up_if([](const request& r) { return r.id == request_id{1}; }, drop_reason::cancelled,
                 {drop_rule::cancelled}, ms(1));
    CHECK(q.release_if([](const request& r) { return r.id == request_id{2}; }) == 1);
    CHECK(q.flushed(1) == drop_list{{1, drop_reason::cancelled}});
    CHECK(q.waiting_for_slot() == 1);
    q.forget_all();
    CHECK(q.waiting_for_slot() == 0);
  }
}

TEST_CASE("a request_queue that expects slots keeps a request back that may have killed its worker") {
  expecting_queue q;
  const auto handle = q.keep(a_request(1, 0), ms(0));
  q.table()[handle].last_loss = worker_loss::worker_crashed;
  q.queue_alone(handle, ms(0));
  q.set_slots({1, 1, {1ms, 5ms}, true});
  q.place(1);
  CHECK(q.policy().queued_requests() == 0);
  CHECK(q.retries().size() == 1);
}
