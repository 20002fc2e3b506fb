#include "policies/common/random.hpp"
#include "tests/actors/tensor/queue_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE(
    "model_queue: a request becomes a candidate, then an order, and is removed at the end of its batch") {
  queue_stage q;
  q.arrive(1);
  const auto c = q.out.one<candidate>();
  CHECK(c.rows == 1);
  CHECK(c.exec_at == at(5));  // a second request would have to start by then
  CHECK(c.latest == at(6));
  q.now = at(5);
  q.grant_slot();
  const auto orders = q.out.take_addressed<batch_order>();
  REQUIRE(orders.size() == 1);
  const auto& [to, order] = orders.front();
  CHECK(to == worker_of(0));
  CHECK(ids(order) == std::vector<uint64_t>{1});
  CHECK(order.ordered_at == at(5));
  CHECK(order.exec_at == at(5));
  CHECK(order.start_by == at(6));
  CHECK(order.term == term_id{10});
  const auto said = q.out.one<occupied>();
  CHECK(said.batch == order.batch);
  CHECK(said.free_at == at(11));
  CHECK(q.actor.unfinished() == 1);
  q.end(order);
  CHECK(q.actor.unfinished() == 0);
}

TEST_CASE("model_queue: a worker may start later than planned by the margin") {
  queue_stage strict, lenient(100, true, 500us);
  for (auto* q : {&strict, &lenient}) {
    q->arrive(1);
    q->grant_slot();
  }
  CHECK(strict.out.one<batch_order>().start_by == at(6));
  CHECK(lenient.out.one<batch_order>().start_by == at(6.5));
}

TEST_CASE("model_queue: a late grant keeps the planned start, but not before its slot is free") {
  queue_stage q;
  q.arrive(1);
  q.now = at(5.5);
  SUBCASE("the slot was free before") {
    q.deliver(grant{model_id{0}, 1, slot_id{0}, worker_of(0), at(3)}, the_arbiter);
    CHECK(q.out.one<batch_order>().exec_at == at(5));
  }
  SUBCASE("the slot was free later") {
    q.deliver(grant{model_id{0}, 1, slot_id{0}, worker_of(0), at(5.4)}, the_arbiter);
    CHECK(q.out.one<batch_order>().exec_at == at(5.4));
  }
  CHECK(q.out.one<occupied>().free_at == at(11.5));
}

TEST_CASE("model_queue: a request that arrives between candidate and grant is in the batch") {
  queue_stage q;
  q.arrive(1);
  q.arrive(2);
  q.now = at(4);
  q.note(submit{{q.a_request(3)}}, the_gateway);
  q.grant_slot();
  const auto order = q.out.one<batch_order>();
  CHECK(ids(order) == std::vector<uint64_t>{1, 2, 3});
}

TEST_CASE("model_queue: the arbiter gets every change of the candidate once, and a new one after a grant") {
  queue_stage q;
  q.arrive(1);
  CHECK(q.out.take<candidate>().size() == 1);
  q.deliver(node_up{gateway_node, {11}});
  q.run_until(at(1));
  CHECK(q.out.take<candidate>().empty());
  q.grant_slot();
  const auto fresh = q.out.one<candidate>();
  CHECK(fresh.rows == 0);
  CHECK(fresh.sequence == 2);
}

TEST_CASE("model_queue: a grant with nothing to run is answered with a free slot") {
  queue_stage q;
  q.grant_slot();
  const auto said = q.out.one<occupied>();
  CHECK(said.batch == batch_id{});
  CHECK(said.free_at == at(0));
  CHECK(q.out.take<batch_order>().empty());
}

TEST_CASE("model_queue: a grant of a dead slot is declined, and its requests stay queued") {
  queue_stage q;
  q.deliver(ready(1));
  q.arrive(1);
  q.deliver(node_down{worker_node, {12}});
  q.deliver(ready(2, 13));
  q.out.forget();
  q.grant_slot(1);
  const auto said = q.out.one<occupied>();
  CHECK(said.batch == batch_id{});
  CHECK(said.free_at > q.now);  // by then the arbiter knows of the death
  CHECK(q.out.take<batch_order>().empty());
  CHECK(q.out.one<candidate>().rows == 1);
}

TEST_CASE("model_queue: a request that can no longer meet its deadline is dropped as late at that time") {
  queue_stage q;
  q.arrive(1);
  q.run_until(at(6));
  CHECK(q.out.take<drops>().empty());
  q.run_until(at(6.1));
  const auto sent = q.out.take_addressed<drops>();
  REQUIRE(sent.size() == 1);
  CHECK(sent[0].first == the_gateway);
  CHECK(sent[0].second.requests == std::vector<dropped_request>{{request_id{1}, 1, drop_reason::late}});
  CHECK(q.actor.unfinished() == 0);
}

TEST_CASE("model_queue: its bound is in rows, and requests beyond it are refused at once") {
  queue_stage q(3);
  q.deliver(submit{{q.a_request(1), q.a_request(2), q.a_request(3), q.a_request(4)}}, the_gateway);
  CHECK(q.out.one<drops>().requests ==
        std::vector<dropped_request>{{request_id{4}, 1, drop_reason::queue_full}});
}

TEST_CASE("model_queue: an empty queue accepts a request with more rows than its bound") {
  queue_stage q(3);
  auto large = q.a_request(1);
  large.rows = 5;
  q.deliver(submit{{large, q.a_request(2)}}, the_gateway);
  CHECK(q.out.one<drops>().requests ==
        std::vector<dropped_request>{{request_id{2}, 1, drop_reason::queue_full}});
  CHECK(q.out.one<candidate>().rows == 5);
}

TEST_CASE("model_queue: a request with an infeasible deadline is refused, and does not count as load") {
  auto o = paper_queue();
  o.load_report = 100ms;
  basic_queue_stage<> q(o);
  q.deliver(ready(0));
  for (uint64_t id = 1; id <= 100; ++id) {
    auto hasty = q.a_request(id);
    hasty.deadline = q.now + 5ms;  // ℓ(1) is 6
    q.deliver(submit{{hasty}}, the_gateway);
    CHECK(q.out.one<drops>().requests ==
          std::vector<dropped_request>{{request_id{id}, 1, drop_reason::late}});
    q.run_until(q.now + 10ms);
  }
  CHECK(q.out.take<queue_load>().empty());
  std::vector<request> many;
  for (uint64_t id = 101; id <= 140; ++id) many.push_back(q.a_request(id));
  q.deliver(submit{many}, the_gateway);
  CHECK(q.out.take<drops>().empty());
}

TEST_CASE("model_queue: a late large request does not block the next one") {
  queue_stage q;
  const auto arrive_with_rows = [&](uint64_t id) {
    auto r = q.a_request(id);
    r.rows = 5;
    q.deliver(submit{{r}}, the_gateway);
  };
  for (uint64_t id : {1, 2, 3}) {
    arrive_with_rows(id);
    CHECK(q.out.one<candidate>().rows == 5);
    q.run_until(q.now + 200ms);
    CHECK(q.out.take<drops>().back().requests ==
          std::vector<dropped_request>{{request_id{id}, 1, drop_reason::late}});
    q.out.forget();
  }
}

TEST_CASE("model_queue: without a live slot requests are dropped as no_capacity") {
  queue_stage q;
  q.deliver(node_leaving{worker_node, {12}});
  q.arrive(1);
  CHECK(q.out.one<drops>().requests ==
        std::vector<dropped_request>{{request_id{1}, 1, drop_reason::no_capacity}});
}

TEST_CASE("model_queue: a queued request can be cancelled, a running one not") {
  queue_stage q;
  q.arrive(1);
  q.deliver(cancel{request_id{1}}, the_gateway);
  CHECK(q.out.one<drops>().requests ==
        std::vector<dropped_request>{{request_id{1}, 1, drop_reason::cancelled}});
  q.arrive(2);
  q.grant_slot();
  q.deliver(cancel{request_id{2}}, the_gateway);
  q.deliver(cancel{request_id{77}}, the_gateway);
  CHECK(q.out.take<drops>().empty());
}

TEST_CASE("model_queue: it plans with the given latency, or else with the slowest measured one") {
  queue_stage given;
  given.deliver(ready(1, 12, 4, 8, {2ms, 5ms}));
  given.arrive(1);
  CHECK(given.out.one<candidate>().latest == at(6));

  queue_stage measured(100, false);
  measured.deliver(ready(1, 12, 4, 8, {2ms, 5ms}));
  measured.deliver(ready(2, 12, 4, 8, {1ms, 1ms}));
  measured.arrive(1);
  CHECK(measured.out.one<candidate>().latest == at(5));
}

TEST_CASE("model_queue: a new incarnation starts empty, with a higher term") {
  queue_stage q;
  q.arrive(1);
  q.grant_slot();
  q.arrive(2);
  const auto old = q.out.one<batch_order>();
  q.deliver(new_incarnation{{40}});
  CHECK(q.actor.unfinished() == 0);
  CHECK(q.actor.self().incarnation == incarnation_id{40});
  q.end(old, refusal::busy);
  CHECK(q.actor.unfinished() == 0);
  q.out.forget();
  q.deliver(ready(0, 12));
  q.arrive(3);
  q.grant_slot();
  const auto order = q.out.one<batch_order>();
  CHECK(ids(order) == std::vector<uint64_t>{3});
  CHECK(order.term == term_id{40});
  CHECK(order.batch != old.batch);
}

TEST_CASE("model_queue: over random histories every request is finished, dropped, running or queued") {
  queue_stage q;
  uint64_t next = 1;
  std::vector<batch_order> running;
  random_stream random(7, "queue");
  uint64_t ended = 0, dropped = 0;
  for (int step = 0; step < 5000; ++step) {
    q.run_until(q.now + 100us);
    switch (random.below(5)) {
      case 0:
      case 1: q.arrive(next++); break;
      case 2: q.deliver(cancel{request_id{1 + random.below(next)}}, the_gateway); break;
      case 3: q.grant_slot(); break;
      default:
        if (running.empty()) break;
        const auto why = random.below(4) == 0 ? refusal::busy : refusal::none;
        if (why == refusal::none) ended += running.front().requests.size();
        q.end(running.front(), why);
        running.erase(running.begin());
    }
    for (auto& o : q.out.take<batch_order>()) running.push_back(std::move(o));
    for (const auto& d : q.out.take<drops>()) dropped += d.requests.size();
  }
  uint64_t in_batches = 0;
  for (const auto& o : running) in_batches += o.requests.size();
  const auto queued = static_cast<uint64_t>(q.value_of("troupe_queue_requests"));
  CHECK(ended > 500);
  CHECK(dropped > 50);
  CHECK(next - 1 == ended + dropped + in_batches + queued);
}
