// Batches that are refused or preempted, and those of dead gateways.
#include "tests/actors/tensor/queue_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("model_queue: requests of a batch refused as late are dropped") {
  queue_stage q;
  q.arrive(1);
  q.grant_slot();
  q.end(q.out.one<batch_order>(), refusal::late);
  CHECK(q.out.one<drops>().requests == std::vector<dropped_request>{{request_id{1}, 1, drop_reason::late}});
  CHECK(q.actor.unfinished() == 0);
}

TEST_CASE("model_queue: refused requests run again with a higher attempt, up to the bound") {
  queue_stage q;
  q.arrive(1);
  for (uint32_t attempt = 1; attempt <= 3; ++attempt) {
    q.grant_slot();
    const auto order = q.out.one<batch_order>();
    REQUIRE(order.requests.size() == 1);
    CHECK(order.requests[0].attempt == attempt);
    CHECK(q.out.take<drops>().empty());
    q.end(order, refusal::busy);
  }
  CHECK(q.out.one<drops>().requests ==
        std::vector<dropped_request>{{request_id{1}, 4, drop_reason::no_capacity}});
  q.grant_slot();
  CHECK(q.out.take<batch_order>().empty());
}

TEST_CASE("model_queue: results that a worker could not deliver go to the gateways of their requests") {
  const address other{node_id{5}, {}, role::gateway, 0};
  const auto first = make_request_id(gateway_node, {11}, 1), second = make_request_id(other.node, {7}, 1);
  queue_stage q;
  q.deliver(
      completion{
          {4}, 0, {{first, 2, failure::stale_memory, {}, {}}, {second, 1, failure::stale_memory, {}, {}}}},
      worker_of(0));
  const auto sent = q.out.take_addressed<completion>();
  REQUIRE(sent.size() == 2);
  CHECK(sent[0].first.node == gateway_node);
  CHECK(sent[0].second.results == std::vector<result>{{first, 2, failure::stale_memory, {}, {}}});
  CHECK(sent[1].first == other);
  CHECK(sent[1].second.results[0].id == second);
}

TEST_CASE("model_queue: requests of a dead gateway do not run") {
  const address other{node_id{5}, {7}, role::gateway, 0};
  queue_stage q;
  q.arrive(1);
  q.grant_slot();
  const auto running = q.out.one<batch_order>();
  q.arrive(2);
  q.arrive(3, other);
  q.deliver(node_down{gateway_node, {11}});
  CHECK(q.value_of("troupe_lost_with_gateway_total") == 2);
  q.end(running, refusal::busy);
  q.grant_slot();
  CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{3});
  CHECK(q.out.take<drops>().empty());
}

TEST_CASE("model_queue: the death of an earlier incarnation of a gateway does not affect the current one") {
  queue_stage q;
  q.arrive(1);
  q.deliver(node_down{gateway_node, {10}});
  q.grant_slot();
  CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{1});
}

namespace {

/// Requests 1 and 2 run on slot 0 from 0 on.
struct running_stage : queue_stage {
  running_stage() {
    arrive(1);
    arrive(2);
    grant_slot();
    order = out.one<batch_order>();
    out.forget();
  }
  batch_order order;
};

}  // namespace

TEST_CASE("model_queue: a preempting grant leads to a preempting order") {
  queue_stage q;
  q.arrive(1);
  q.deliver(grant{model_id{0}, 1, slot_id{0}, worker_of(0), q.now, false, 1, true}, the_arbiter);
  CHECK(q.out.one<batch_order>().preempts);
  q.arrive(2);
  q.grant_slot();
  CHECK_FALSE(q.out.one<batch_order>().preempts);
}

TEST_CASE("model_queue: requests that a worker returns to an ended queue are dropped") {
  for (const auto why : {refusal::busy, refusal::preempted, refusal::late}) {
    running_stage q;
    q.actor.end(q.now);
    CHECK(q.actor.unfinished() == 1);
    q.end(q.order, why);
    const auto reason = why == refusal::late ? drop_reason::late : drop_reason::no_capacity;
    const auto sent = q.out.one<drops>().requests;
    REQUIRE(sent.size() == 2);
    for (const auto& d : sent) CHECK(d.reason == reason);
    CHECK(q.actor.unfinished() == 0);
    CHECK(q.out.take<candidate>().empty());
  }
}

TEST_CASE("model_queue: an ended queue gets the ends of its batches, and nothing else") {
  running_stage q;
  q.actor.end(q.now);
  q.arrive(3);
  q.deliver(ready(1));
  q.grant_slot();
  CHECK(q.out.take<batch_order>().empty());
  CHECK(q.actor.unfinished() == 1);
  auto another = q.order;
  another.batch = batch_id{q.order.batch.value + 1};
  q.end(another);
  CHECK(q.actor.unfinished() == 1);
  q.deliver(node_down{worker_node, {12}});
  CHECK(q.out.one<drops>().requests.size() == 2);
  CHECK(q.actor.unfinished() == 0);

  running_stage ran;
  ran.actor.end(ran.now);
  ran.end(ran.order);
  CHECK(ran.out.take<drops>().empty());
  CHECK(ran.actor.unfinished() == 0);
}

TEST_CASE("model_queue: preempted requests run again any number of times, without a poison retry") {
  running_stage q;
  for (uint32_t times = 1; times <= 5; ++times) {  // more often than workers may refuse it
    q.now += 100us;
    q.end(q.order, refusal::preempted);
    CHECK(q.out.take<drops>().empty());
    CHECK(q.out.one<candidate>().rows == 2);
    q.grant_slot();
    q.order = q.out.one<batch_order>();
    CHECK(ids(q.order) == std::vector<uint64_t>{1, 2});
    CHECK(q.order.requests[0].attempt == 1 + times);
    q.out.forget();
  }
  CHECK(q.value_of("troupe_queue_preempted_total") == 10);
  CHECK(q.value_of("troupe_queue_resubmitted_total") == 0);
  CHECK(q.value_of("troupe_queue_poison_retries") == 0);
  for (uint32_t refused = 1; refused <= 2; ++refused) {  // refusals count
    q.end(q.order, refusal::busy);
    CHECK(q.out.take<drops>().empty());
    q.grant_slot();
    q.order = q.out.one<batch_order>();
  }
  q.end(q.order, refusal::busy);
  CHECK(q.out.one<drops>().requests.size() == 2);
  CHECK(q.actor.unfinished() == 0);
}

TEST_CASE("model_queue: preempted requests with infeasible deadlines are dropped as late, others run again") {
  queue_stage q;
  q.arrive(1);
  q.now = at(3);
  q.arrive(2);
  q.grant_slot();
  const auto order = q.out.one<batch_order>();
  REQUIRE(ids(order) == std::vector<uint64_t>{1, 2});
  q.out.forget();
  q.now = at(7);  // 7 + ℓ(1) is beyond 12, but not beyond 15
  q.end(order, refusal::preempted);
  const auto dropped = q.out.one<drops>().requests;
  REQUIRE(dropped.size() == 1);
  CHECK(dropped[0].id == request_id{1});
  CHECK(dropped[0].reason == drop_reason::late);
  CHECK(q.out.one<candidate>().rows == 1);
  CHECK(q.actor.unfinished() == 1);
}

TEST_CASE("model_queue: preempted requests are queued again in a full queue, and dropped without a slot") {
  queue_stage q(2);
  q.arrive(1);
  q.arrive(2);
  q.grant_slot();
  const auto order = q.out.one<batch_order>();
  q.arrive(3);
  q.arrive(4);
  q.end(order, refusal::preempted);
  CHECK(q.out.take<drops>().empty());
  CHECK(q.actor.unfinished() == 4);

  running_stage alone;
  alone.deliver(node_leaving{worker_node, {12}});
  alone.end(alone.order, refusal::preempted);
  for (const auto& r : alone.out.one<drops>().requests) CHECK(r.reason == drop_reason::no_capacity);
  CHECK(alone.actor.unfinished() == 0);
}

TEST_CASE("model_queue: preempted requests of a dead gateway do not run again") {
  running_stage q;
  q.deliver(node_down{gateway_node, {11}});
  q.end(q.order, refusal::preempted);
  CHECK(q.actor.unfinished() == 0);
  CHECK(q.value_of("troupe_queue_preempted_total") == 0);
}
