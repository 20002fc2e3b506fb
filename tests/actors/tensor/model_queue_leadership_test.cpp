// A model queue when the leader changes.
#include "tests/actors/leaders.hpp"
#include "tests/actors/tensor/queue_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct queue_of_line : basic_queue_stage<> {
  explicit queue_of_line(const address& self = standby_queue, const leadership& known = first)
      : basic_queue_stage(options(), "eager", "timeout", self) {
    deliver(ready(0));
    deliver(known);
    out.forget();
  }
  static model_queue::options options() {
    auto o = paper_queue(standby_arbiter);
    o.term = {};
    o.elected = true;
    return o;
  }
};

}  // namespace

TEST_CASE("leadership, model_queue: a standby drops requests, and as the leader orders in its term") {
  queue_of_line q;
  q.arrive(1);
  CHECK(q.out.take<candidate>().empty());
  q.deliver(second);
  q.arrive(2);
  q.grant_slot();
  const auto o = q.out.one<batch_order>();
  CHECK(o.term == second.term);
  REQUIRE(o.requests.size() == 1);
  CHECK(o.requests[0].id == request_id{2});
}

TEST_CASE("leadership, model_queue: requests cancelled before the first term do not run in it") {
  queue_of_line q(standby_queue, {});
  q.arrive(1);
  q.arrive(2);
  q.arrive(3);
  q.deliver(cancel{request_id{1}}, the_gateway);
  CHECK(q.out.one<drops>().requests ==
        std::vector<dropped_request>{{request_id{1}, 1, drop_reason::cancelled}});
  q.note(cancel{request_id{3}}, the_gateway);  // and in the turn that begins the term
  q.deliver(second);
  q.grant_slot();
  CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{2});
}

TEST_CASE("leadership, model_queue: handed-over requests are not ordered again unless their worker dies") {
  queue_of_line q;
  q.deliver(second);
  q.arrive(1);  // before the worker reports it as running
  const handover h{slot_id{0}, worker_of(0), second.term, {7}, model_id{0}, {q.a_request(1), q.a_request(2)}};
  q.deliver(h, standby_arbiter);
  q.arrive(2);  // after it
  q.arrive(3);
  q.grant_slot();
  const auto o = q.out.one<batch_order>();
  CHECK(o.batch.value > 7);
  REQUIRE(o.requests.size() == 1);
  CHECK(o.requests[0].id == request_id{3});
  SUBCASE("done") {
    q.deliver(batch_done{{7}, model_id{0}, slot_id{0}, refusal::none, 2, q.now, q.now, {}}, worker_of(0));
    CHECK(q.actor.unfinished() == 1);
  }
  SUBCASE("lost") {
    q.deliver(ready(1, 20));
    q.deliver(node_down{worker_node, {12}, true});
    CHECK(q.out.take<candidate>().back().alone);  // poison retries
  }
}

TEST_CASE("leadership, model_queue: a suspect of the last leader runs alone, and crashes no third worker") {
  queue_of_line q;
  q.deliver(second);
  q.deliver(ready(1, 20));
  q.out.forget();
  auto suspect = q.a_request(1);
  suspect.last_loss = worker_loss::worker_crashed;
  SUBCASE("that waits") {
    q.deliver(submit{{suspect, q.a_request(2)}}, the_gateway);
    const auto asked = q.out.take<candidate>();
    CHECK(std::count_if(asked.begin(), asked.end(), [](const auto& c) { return c.alone; }) == 1);
    q.deliver(grant{model_id{0}, 1, slot_id{0}, worker_of(0), q.now, true}, standby_arbiter);
    CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{1});
  }
  SUBCASE("that its worker hands over") {
    q.deliver(handover{slot_id{0}, worker_of(0), second.term, {7}, model_id{0}, {suspect}}, standby_arbiter);
  }
  q.deliver(node_down{worker_node, {12}, true});
  const auto verdict = q.out.one<completion>();
  CHECK(verdict.results.front().id == request_id{1});
  CHECK(verdict.results.front().error == failure::poison);
}

TEST_CASE("leadership, model_queue: a late handover is kept apart from the batches of this term") {
  queue_of_line earlier(the_queue), q;
  earlier.arrive(1);
  earlier.grant_slot();
  const auto old = earlier.out.one<batch_order>();
  q.deliver(second);
  q.arrive(2);
  q.grant_slot();
  const auto mine = q.out.one<batch_order>();
  q.deliver(handover{slot_id{1}, worker_of(1), second.term, old.batch, model_id{0}, old.requests},
            standby_arbiter);
  CHECK(q.actor.unfinished() == 2);
  q.deliver(batch_done{old.batch, model_id{0}, slot_id{1}, refusal::none, 1, q.now, q.now, {}}, worker_of(1));
  CHECK(q.actor.unfinished() == 1);
  q.deliver(batch_done{mine.batch, model_id{0}, slot_id{0}, refusal::busy, 0, q.now, q.now, {}},
            worker_of(0));
  q.grant_slot();
  CHECK(q.out.one<batch_order>().requests.at(0).id == request_id{2});
}

TEST_CASE("leadership, model_queue: the end of a batch may overtake its handover") {
  queue_of_line q;
  q.deliver(second);
  q.arrive(1);
  const handover h{slot_id{0}, worker_of(0), second.term, {7}, model_id{0}, {q.a_request(1), q.a_request(2)}};
  SUBCASE("it ran") {
    q.deliver(batch_done{{7}, model_id{0}, slot_id{0}, refusal::none, 2, q.now, q.now, {}}, worker_of(0));
    q.deliver(h, standby_arbiter);
    q.arrive(2);
    CHECK(q.actor.unfinished() == 0);
  }
  SUBCASE("it was refused") {
    q.deliver(batch_done{{7}, model_id{0}, slot_id{0}, refusal::busy, 0, q.now, q.now, {}}, worker_of(0));
    q.deliver(h, standby_arbiter);
    CHECK(q.actor.unfinished() == 2);
  }
}

TEST_CASE("leadership, model_queue: attempts of earlier terms do not count towards the bound") {
  queue_of_line q;
  q.deliver(second);
  auto r = q.a_request(1);
  r.attempt = 7;
  q.deliver(submit{{r}}, the_gateway);
  for (int refused = 0; refused < 2; ++refused) {
    q.grant_slot();
    const auto o = q.out.one<batch_order>();
    q.deliver(batch_done{o.batch, o.model, o.slot, refusal::busy, 0, q.now, q.now, {}}, worker_of(0));
  }
  CHECK(q.out.take<drops>().empty());
  q.grant_slot();
  CHECK(q.out.one<batch_order>().requests.at(0).attempt == 9);
}

TEST_CASE("leadership, model_queue: a new queue keeps requests until the leader is known") {
  queue_of_line q(standby_queue, leadership{});
  q.arrive(1);
  CHECK(q.out.take<candidate>().empty());
  SUBCASE("this node leads") {
    q.deliver(second);
    q.grant_slot();
    CHECK(q.out.one<batch_order>().requests.at(0).id == request_id{1});
  }
  SUBCASE("another node leads, and gets them from the gateway") {
    q.deliver(first);
    CHECK(q.actor.unfinished() == 0);
    CHECK(q.out.take<drops>().empty());
  }
}

TEST_CASE("leadership, model_queue: a new leader awaits workers that it has not heard, and no others") {
  auto o = queue_of_line::options();
  o.slot_nodes = {worker_node};
  o.join_timeout = 10ms;
  basic_queue_stage<> q(o, "eager", "timeout", standby_queue);
  q.deliver(second);
  q.arrive(1);
  CHECK(q.actor.unfinished() == 1);
  CHECK(q.out.take<drops>().empty());
  SUBCASE("one reports its slot") {
    q.out.forget();
    q.now += 2ms;
    q.deliver(ready(0));
    CHECK(q.out.take<candidate>().size() == 1);
    q.grant_slot();
    CHECK(ids(q.out.one<batch_order>()) == std::vector<uint64_t>{1});
  }
  SUBCASE("it goes down") {
    q.deliver(node_down{worker_node, {12}, true});
    CHECK(q.out.one<drops>().requests.at(0).reason == drop_reason::no_capacity);
  }
  SUBCASE("none comes in time") {
    q.run_until(q.now + 9ms);
    CHECK(q.out.take<drops>().empty());
    q.run_until(q.now + 1ms);
    CHECK(q.out.one<drops>().requests.at(0).reason == drop_reason::no_capacity);
    q.arrive(2);
    CHECK(q.out.one<drops>().requests.at(0).reason == drop_reason::no_capacity);
  }
  SUBCASE("a batch of the last leader has the request") {
    const handover h{slot_id{0}, worker_of(0), second.term, {7}, model_id{0}, {q.a_request(1)}};
    q.note(ready(0));
    q.deliver(h, standby_arbiter);
    CHECK(q.actor.unfinished() == 1);
    CHECK(q.out.take<drops>().empty());
  }
  SUBCASE("another leader follows") {
    q.deliver(leadership{{300}, scheduler_node, {10}});
    CHECK(q.actor.unfinished() == 0);
    CHECK(q.out.take<drops>().empty());
  }
}

TEST_CASE("leadership, model_queue: a deposed queue drops its requests and sends nothing") {
  queue_of_line q;
  q.deliver(second);
  q.arrive(1);
  q.out.forget();
  q.deliver(leadership{{300}, scheduler_node, {10}});
  CHECK(q.actor.unfinished() == 0);
  q.arrive(2);
  CHECK(q.actor.unfinished() == 0);
  CHECK(q.out.take<drops>().empty());
}

TEST_CASE("leadership, model_queue: stale inputs of an adopted batch are reported for the latest attempt") {
  for (const bool submitted_first : {false, true}) {
    queue_of_line q;
    q.deliver(second);
    auto r = q.a_request(1);
    const handover h{slot_id{0}, worker_of(0), second.term, {7}, model_id{0}, {r}};
    ++r.attempt;  // by the gateway, for the new leader
    if (submitted_first) q.deliver(submit{{r}}, the_gateway);
    q.deliver(h, standby_arbiter);
    if (!submitted_first) q.deliver(submit{{r}}, the_gateway);
    q.deliver(batch_done{{7}, model_id{0}, slot_id{0}, refusal::none, 0, q.now, q.now, {r.id}}, worker_of(0));
    const auto reported = q.out.one<completion>().results.at(0);
    CHECK(reported.error == failure::stale_memory);
    CHECK(reported.attempt == r.attempt);
    ++r.attempt;
    q.deliver(submit{{r}}, the_gateway);
    CHECK(q.actor.unfinished() == 1);
  }
}
