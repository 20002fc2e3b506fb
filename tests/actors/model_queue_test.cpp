#include "actors/model_queue.hpp"

#include "policies/random.hpp"
#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// A queue as in the paper's examples: ℓ(b) = b + 5, SLO 12; a unit is 1 ms.
struct queue_stage : stage<model_queue> {
  explicit queue_stage(uint32_t max_queued_rows = 100, bool latency_given = true, duration margin = {})
      : stage(the_queue, options(max_queued_rows, latency_given, margin),
              make_batching("deferred", "timeout", parameters())) {
    tell(ready(0));
    out.forget();
  }
  static model_queue::options options(uint32_t max_queued_rows, bool latency_given, duration margin) {
    model_queue::options o;
    o.name = "m";
    o.arbiter = the_arbiter;
    o.reign = epoch{10};
    o.max_queued_rows = max_queued_rows;
    o.latency_given = latency_given;
    o.margin = margin;
    return o;
  }
  static batching_parameters parameters() {
    batching_parameters p;
    p.latency = {1ms, 5ms};
    p.slo = 12ms;
    return p;
  }

  request ask(uint64_t id, const address& gateway = the_gateway) const {
    request r;
    r.id = request_id{id};
    r.gateway = gateway;
    r.arrival = now;
    r.deadline = now + 12ms;
    return r;
  }
  void arrive(uint64_t id, const address& gateway = the_gateway) {
    tell(submit{{ask(id, gateway)}}, gateway);
  }
  void grant_slot(uint32_t slot = 0, uint64_t life = 12) {
    tell(grant{model_id{0}, 1, slot_id{slot}, worker_of(slot, life), now}, the_arbiter);
  }
  void end(const batch_order& o, refusal why = refusal::none) {
    tell(batch_done{o.batch, o.model, o.slot, why, 1, now, now, {}}, worker_of(o.slot.value));
  }
};

/// A worker has died with requests 1 and 2, while 3 waited. Slot 1 is another one's.
struct suspects_stage : queue_stage {
  explicit suspects_stage(bool crashed = true) {
    tell(ready(1, 20));
    arrive(1);
    arrive(2);
    grant_slot(0);
    lost = out.one<batch_order>();
    arrive(3);
    out.forget();
    tell(node_down{worker_node, {12}, crashed});
  }
  void grant_alone(uint32_t slot = 1, uint64_t life = 20) {
    tell(grant{model_id{0}, 1, slot_id{slot}, worker_of(slot, life), now, true}, the_arbiter);
  }
  batch_order lost;
};

std::vector<uint64_t> ids(const batch_order& o) {
  std::vector<uint64_t> out;
  for (const auto& r : o.requests) out.push_back(r.id.value);
  return out;
}

}  // namespace

TEST_CASE("model_queue: a request becomes a candidate, a grant makes it an order, and its end forgets it") {
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
  CHECK(order.reign == epoch{10});
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

TEST_CASE("model_queue: a grant that comes late does not move the plan, so that lateness shows") {
  queue_stage q;
  q.arrive(1);
  q.now = at(5.5);
  SUBCASE("because a timer was late") {
    q.tell(grant{model_id{0}, 1, slot_id{0}, worker_of(0), at(3)}, the_arbiter);
    CHECK(q.out.one<batch_order>().exec_at == at(5));
  }
  SUBCASE("but the slot was not free before") {
    q.tell(grant{model_id{0}, 1, slot_id{0}, worker_of(0), at(5.4)}, the_arbiter);
    CHECK(q.out.one<batch_order>().exec_at == at(5.4));
  }
  CHECK(q.out.one<occupied>().free_at == at(11.5));
}

TEST_CASE("model_queue: a request that arrives between candidate and grant is in the batch") {
  queue_stage q;
  q.arrive(1);
  q.arrive(2);
  q.now = at(4);
  q.note(submit{{q.ask(3)}}, the_gateway);
  q.grant_slot();
  const auto order = q.out.one<batch_order>();
  CHECK(ids(order) == std::vector<uint64_t>{1, 2, 3});
}

TEST_CASE("model_queue: the arbiter is told of every change once, and afresh after a grant") {
  queue_stage q;
  q.arrive(1);
  CHECK(q.out.take<candidate>().size() == 1);
  q.tell(node_up{gateway_node, {11}});
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

TEST_CASE("model_queue: a grant of a slot that has died is given back, and its requests stay") {
  queue_stage q;
  q.tell(ready(1));
  q.arrive(1);
  q.tell(node_down{worker_node, {12}});
  q.tell(ready(2, 13));
  q.out.forget();
  q.grant_slot(1);
  const auto said = q.out.one<occupied>();
  CHECK(said.batch == batch_id{});
  CHECK(said.free_at > q.now);  // the arbiter has time to hear of the death
  CHECK(q.out.take<batch_order>().empty());
  CHECK(q.out.one<candidate>().rows == 1);
}

TEST_CASE("model_queue: what can no longer meet its deadline is dropped as late, in its own time") {
  queue_stage q;
  q.arrive(1);
  q.run_until(at(6));
  CHECK(q.out.take<drops>().empty());
  q.run_until(at(6.1));
  const auto told = q.out.take_addressed<drops>();
  REQUIRE(told.size() == 1);
  CHECK(told[0].first == the_gateway);
  CHECK(told[0].second.requests == std::vector<dropped_request>{{request_id{1}, 1, drop_reason::late}});
  CHECK(q.actor.unfinished() == 0);
}

TEST_CASE("model_queue: its bound is in rows, and what is beyond is refused at once") {
  queue_stage q(3);
  q.tell(submit{{q.ask(1), q.ask(2), q.ask(3), q.ask(4)}}, the_gateway);
  CHECK(q.out.one<drops>().requests ==
        std::vector<dropped_request>{{request_id{4}, 1, drop_reason::queue_full}});
}

TEST_CASE("model_queue: a large request that came too late does not close the door to the next one") {
  queue_stage q;
  const auto arrive_with_rows = [&](uint64_t id) {
    auto r = q.ask(id);
    r.rows = 5;
    q.tell(submit{{r}}, the_gateway);
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

TEST_CASE("model_queue: without a living slot there is no capacity") {
  queue_stage q;
  q.tell(node_leaving{worker_node, {12}});
  q.arrive(1);
  CHECK(q.out.one<drops>().requests ==
        std::vector<dropped_request>{{request_id{1}, 1, drop_reason::no_capacity}});
}

TEST_CASE("model_queue: a queued request can be cancelled, a running one not") {
  queue_stage q;
  q.arrive(1);
  q.tell(cancel{request_id{1}}, the_gateway);
  CHECK(q.out.one<drops>().requests ==
        std::vector<dropped_request>{{request_id{1}, 1, drop_reason::cancelled}});
  q.arrive(2);
  q.grant_slot();
  q.tell(cancel{request_id{2}}, the_gateway);
  q.tell(cancel{request_id{77}}, the_gateway);
  CHECK(q.out.take<drops>().empty());
}

TEST_CASE("model_queue: a batch refused as late is dropped, for it would make the next one late too") {
  queue_stage q;
  q.arrive(1);
  q.grant_slot();
  q.end(q.out.one<batch_order>(), refusal::late);
  CHECK(q.out.one<drops>().requests == std::vector<dropped_request>{{request_id{1}, 1, drop_reason::late}});
  CHECK(q.actor.unfinished() == 0);
}

TEST_CASE("model_queue: what a worker refused goes again with a higher attempt, up to the bound") {
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

TEST_CASE("model_queue: what a dead worker had goes again, each alone, and its late words change nothing") {
  suspects_stage q;
  CHECK(q.actor.unfinished() == 3);
  q.end(q.lost);
  CHECK(q.actor.unfinished() == 3);
  const auto asked = q.out.take<candidate>();
  CHECK(std::count_if(asked.begin(), asked.end(), [](const auto& c) { return c.alone && c.rows == 1; }) == 1);
  q.grant_slot(1, 20);  // the others are served as ever
  CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{3});
  for (const uint64_t id : {1, 2}) {
    q.out.forget();
    q.grant_alone();
    const auto again = q.out.one<batch_order>();
    CHECK(ids(again) == std::vector<uint64_t>{id});
    CHECK(again.requests[0].attempt == 2);
    CHECK(again.batch != q.lost.batch);
    CHECK(again.start_by == at(6));
    CHECK(q.out.one<occupied>().alone);
    q.end(again);
  }
  CHECK(q.figure("troupe_queue_suspects") == 0);
  CHECK(q.figure("troupe_queue_poisoned_total") == 0);
}

TEST_CASE("model_queue: whoever kills a second worker while alone fails as poison, and only that") {
  suspects_stage q;
  q.grant_alone();
  q.tell(ready(2, 30));
  q.out.forget();
  q.tell(node_down{worker_node, {20}, true});
  const auto said = q.out.take_addressed<completion>();
  REQUIRE(said.size() == 1);
  CHECK(said[0].first == the_gateway);
  REQUIRE(said[0].second.results.size() == 1);
  CHECK(said[0].second.results[0].id == request_id{1});
  CHECK(said[0].second.results[0].error == failure::poison);
  CHECK(q.out.take<drops>().empty());
  CHECK(q.actor.unfinished() == 2);
  q.grant_alone(2, 30);
  CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{2});
  CHECK(q.figure("troupe_queue_poisoned_total") == 1);
}

TEST_CASE("model_queue: whoever lost two workers, not both to crashes, is no poison, and kills no third") {
  for (const bool first : {false, true}) {
    suspects_stage q(first);
    q.grant_alone();
    q.tell(ready(2, 30));
    q.out.forget();
    q.tell(node_down{worker_node, {20}, !first});
    const auto said = q.out.one<completion>();
    CHECK(said.results.front().id == request_id{1});
    CHECK(said.results.front().error == failure::worker_lost);
    CHECK(q.figure("troupe_queue_poisoned_total") == 0);
  }
}

TEST_CASE("model_queue: a suspect whose time runs out, or whom nobody waits for, is not tried") {
  SUBCASE("late") {
    suspects_stage q;
    q.run_until(at(6.1));
    const auto said = q.out.take<drops>();
    size_t late = 0;
    for (const auto& d : said) late += d.requests.size();
    CHECK(late == 3);
  }
  SUBCASE("cancelled") {
    suspects_stage q;
    q.tell(cancel{{1}});
    CHECK(q.out.one<drops>().requests[0].reason == drop_reason::cancelled);
    q.grant_alone();
    CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{2});
  }
  SUBCASE("of a gateway that died") {
    suspects_stage q;
    q.tell(node_down{gateway_node, {11}});
    q.grant_alone();
    CHECK(q.out.take<batch_order>().empty());
    CHECK(q.out.one<occupied>().batch == batch_id{});
    CHECK(q.actor.unfinished() == 0);
  }
}

TEST_CASE("model_queue: a trial that a worker refuses is tried again") {
  suspects_stage q;
  q.grant_alone();
  const auto order = q.out.one<batch_order>();
  q.end(order, refusal::busy);
  q.grant_alone();
  const auto again = q.out.one<batch_order>();
  CHECK(ids(again) == std::vector<uint64_t>{1});
  CHECK(again.requests[0].attempt == 3);
}

TEST_CASE("model_queue: nobody runs what a dead gateway had asked for") {
  const address other{node_id{5}, {7}, role::gateway, 0};
  queue_stage q;
  q.arrive(1);
  q.grant_slot();
  const auto running = q.out.one<batch_order>();
  q.arrive(2);
  q.arrive(3, other);
  q.tell(node_down{gateway_node, {11}});
  CHECK(q.figure("troupe_lost_with_gateway_total") == 2);
  q.end(running, refusal::busy);
  q.grant_slot();
  CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{3});
  CHECK(q.out.take<drops>().empty());
}

TEST_CASE("model_queue: an earlier life of a gateway takes nothing of the present one with it") {
  queue_stage q;
  q.arrive(1);
  q.tell(node_down{gateway_node, {10}});
  q.grant_slot();
  CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{1});
}

TEST_CASE("model_queue: plans with the slowest latency that slots measured, or with the given one") {
  queue_stage given;
  given.tell(ready(1, 12, 4, 8, {2ms, 5ms}));
  given.arrive(1);
  CHECK(given.out.one<candidate>().latest == at(6));

  queue_stage measured(100, false);
  measured.tell(ready(1, 12, 4, 8, {2ms, 5ms}));
  measured.tell(ready(2, 12, 4, 8, {1ms, 1ms}));
  measured.arrive(1);
  CHECK(measured.out.one<candidate>().latest == at(5));
}

TEST_CASE("model_queue: a new life starts empty, with a higher reign") {
  queue_stage q;
  q.arrive(1);
  q.grant_slot();
  q.arrive(2);
  const auto old = q.out.one<batch_order>();
  q.tell(reborn{{40}});
  CHECK(q.actor.unfinished() == 0);
  CHECK(q.actor.self().life == incarnation{40});
  q.end(old, refusal::busy);
  CHECK(q.actor.unfinished() == 0);
  q.out.forget();
  q.tell(ready(0, 12));
  q.arrive(3);
  q.grant_slot();
  const auto order = q.out.one<batch_order>();
  CHECK(ids(order) == std::vector<uint64_t>{3});
  CHECK(order.reign == epoch{40});
  CHECK(order.batch != old.batch);
}

TEST_CASE("model_queue: handles are never mixed up, whatever happens") {
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
      case 2: q.tell(cancel{request_id{1 + random.below(next)}}, the_gateway); break;
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
  const auto queued = static_cast<uint64_t>(q.figure("troupe_queue_requests"));
  CHECK(ended > 500);
  CHECK(dropped > 50);
  CHECK(next - 1 == ended + dropped + in_batches + queued);
}

TEST_CASE(
    "model_queue: one that is ended gives up what waits, suspects too, and leaves what runs to its worker") {
  suspects_stage q;
  q.tell(ready(2, 21));
  q.arrive(4);
  q.grant_slot(2, 21);
  const auto running = ids(q.out.one<batch_order>());
  q.arrive(5);
  q.out.forget();
  q.actor.end(q.now);
  std::vector<uint64_t> given_up;
  for (const auto& d : q.out.one<drops>().requests) {
    CHECK(d.reason == drop_reason::no_capacity);
    given_up.push_back(d.id.value);
  }
  CHECK(running == std::vector<uint64_t>{3, 4});
  std::sort(given_up.begin(), given_up.end());
  CHECK(given_up == std::vector<uint64_t>{1, 2, 5});
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

TEST_CASE("model_queue: a grant that preempts makes an order that does") {
  queue_stage q;
  q.arrive(1);
  q.tell(grant{model_id{0}, 1, slot_id{0}, worker_of(0), q.now, false, 1, true}, the_arbiter);
  CHECK(q.out.one<batch_order>().preempts);
  q.arrive(2);
  q.grant_slot();
  CHECK_FALSE(q.out.one<batch_order>().preempts);
}

TEST_CASE("model_queue: what was preempted runs again, however often, and nobody is suspected") {
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
  CHECK(q.figure("troupe_queue_preempted_total") == 10);
  CHECK(q.figure("troupe_queue_resubmitted_total") == 0);
  CHECK(q.figure("troupe_queue_suspects") == 0);
  for (uint32_t refused = 1; refused <= 2; ++refused) {  // those count as ever
    q.end(q.order, refusal::busy);
    CHECK(q.out.take<drops>().empty());
    q.grant_slot();
    q.order = q.out.one<batch_order>();
  }
  q.end(q.order, refusal::busy);
  CHECK(q.out.one<drops>().requests.size() == 2);
  CHECK(q.actor.unfinished() == 0);
}

TEST_CASE(
    "model_queue: what was preempted and cannot be in time any more is dropped as late, the rest is not") {
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

TEST_CASE("model_queue: what was preempted is let in again however full the queue is, or nobody is there") {
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
  alone.tell(node_leaving{worker_node, {12}});
  alone.end(alone.order, refusal::preempted);
  for (const auto& r : alone.out.one<drops>().requests) CHECK(r.reason == drop_reason::no_capacity);
  CHECK(alone.actor.unfinished() == 0);
}

TEST_CASE("model_queue: of a dead gateway nothing that was preempted runs again") {
  running_stage q;
  q.tell(node_down{gateway_node, {11}});
  q.end(q.order, refusal::preempted);
  CHECK(q.actor.unfinished() == 0);
  CHECK(q.figure("troupe_queue_preempted_total") == 0);
}
