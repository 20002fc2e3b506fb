#include "actors/rank_arbiter.hpp"

#include <nlohmann/json.hpp>

#include "messages/json.hpp"
#include "tests/actors/stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

constexpr address queue_of(uint32_t model, uint64_t life = 10) {
  return {scheduler_node, {life}, role::model_queue, model};
}

/// A slot with all models that these tests know.
slot_ready has_all(uint32_t slot, uint64_t life = 12) {
  auto s = ready(slot, life);
  for (uint32_t i = 1; i < 8; ++i) {
    s.models.push_back(s.models[0]);
    s.models.back().model = model_id{i};
  }
  return s;
}

/// Batches take 10 unless said otherwise; a unit is 1 ms.
struct arbiter_stage : stage<rank_arbiter> {
  explicit arbiter_stage(uint32_t slots = 1) : stage(the_arbiter, make_matchmaking("lowest_id")) {
    for (uint32_t i = 0; i < slots; ++i) tell(has_all(i));
  }
  void offer(uint32_t model, double exec_at, double latest, duration delay = {}, uint32_t rows = 1) {
    tell(candidate{model_id{model}, ++sequence, rows, at(exec_at), at(latest), delay}, queue_of(model));
  }
  void answer(const grant& g, uint64_t batch, double free_at) {
    tell(occupied{g.model, g.sequence, g.slot, {batch}, at(free_at)}, queue_of(g.model.value));
  }
  void done(uint64_t batch, uint32_t model, uint32_t slot, double end, refusal why = refusal::none) {
    tell(batch_done{{batch}, model_id{model}, slot_id{slot}, why, 1, now, at(end), {}}, worker_of(slot));
  }
  void suspect(uint32_t model) {
    tell(candidate{model_id{model}, ++sequence, 1, now, never, {}, true}, queue_of(model));
  }
  void answer_alone(const grant& g, uint64_t batch) {
    tell(occupied{g.model, g.sequence, g.slot, {batch}, now + 10ms, true}, queue_of(g.model.value));
  }
  uint64_t sequence = 0;
};

slot_ready ready_on(node_id node, uint32_t slot) {
  auto r = ready(slot);
  r.worker.node = node;
  return r;
}

}  // namespace

TEST_CASE("rank_arbiter: a candidate is granted when it wants to start, with the worker's address") {
  arbiter_stage a;
  a.offer(0, 5, 8);
  a.run_until(at(4.9));
  CHECK(a.out.silent());
  a.run_until(at(5));
  const auto grants = a.out.take_addressed<grant>();
  REQUIRE(grants.size() == 1);
  CHECK(grants[0].first == queue_of(0));
  CHECK(grants[0].second.worker == worker_of(0));
  CHECK(grants[0].second.sequence == 1);
}

TEST_CASE("rank_arbiter: a slot is granted ahead of its end by the delay, but never two batches ahead") {
  arbiter_stage a;
  a.offer(0, 0, 100, 2ms);
  a.answer(a.out.one<grant>(), 1, 10);
  a.offer(0, 0, 100, 2ms);
  a.run_until(at(7.9));
  CHECK(a.out.silent());
  a.run_until(at(8));
  a.answer(a.out.one<grant>(), 2, 20);
  a.offer(0, 0, 100, 2ms);
  a.run_until(at(50));
  CHECK(a.out.silent());  // the first one is still not done
  a.done(1, 0, 0, 50);
  a.run_until(at(60));
  const auto g = a.out.one<grant>();
  CHECK(g.free_at == at(60));  // the second, planned to end at 20, is as late as the first
}

TEST_CASE("rank_arbiter: an early end frees the slot early, a late one late") {
  arbiter_stage a;
  a.offer(0, 0, 100);
  a.answer(a.out.one<grant>(), 1, 10);
  a.offer(0, 0, 100);
  a.run_until(at(6));
  CHECK(a.out.silent());
  a.done(1, 0, 0, 6);
  CHECK(a.out.one<grant>().free_at == at(6));
}

TEST_CASE("rank_arbiter: what a batch ran counts as busy time, what a worker refused does not") {
  arbiter_stage a;
  a.offer(0, 0, 100);
  a.answer(a.out.one<grant>(), 1, 10);
  a.done(1, 0, 0, 4);
  CHECK(a.figure("troupe_slot_busy_seconds_total") == doctest::Approx(0.004));
  a.offer(0, 0, 100);
  a.run_until(at(4));
  a.answer(a.out.one<grant>(), 2, 14);
  a.done(2, 0, 0, 4, refusal::late);
  CHECK(a.figure("troupe_orders_refused_total") == 1);
  CHECK(a.figure("troupe_slot_busy_seconds_total") == doctest::Approx(0.004));
  a.offer(0, 0, 100);
  CHECK(a.out.take<grant>().size() == 1);
}

TEST_CASE("rank_arbiter: a batch that is done before its slot is said to be occupied leaves nothing behind") {
  arbiter_stage a;
  for (uint64_t batch = 1; batch <= 5; ++batch) {
    a.offer(0, 0, 1000, 2ms);
    a.run_until(a.now + 10ms);
    const auto g = a.out.one<grant>();
    a.done(batch, 0, 0, to_ms(a.now.time_since_epoch()));
    a.answer(g, batch, to_ms(a.now.time_since_epoch()) + 10);
  }
  a.offer(0, 0, 1000);
  CHECK(a.out.take<grant>().size() == 1);  // free now, not in 10 ms
}

TEST_CASE("rank_arbiter: a grant answered without a batch frees its slot for others") {
  arbiter_stage a;
  a.offer(0, 0, 10);
  const auto g = a.out.one<grant>();
  a.offer(1, 0, 10);
  CHECK(a.out.silent());
  a.answer(g, 0, 0);
  CHECK(a.out.one<grant>().model == model_id{1});
}

TEST_CASE("rank_arbiter: a candidate sent before the grant arrived is not matched after its answer") {
  arbiter_stage a(2);
  a.offer(0, 0, 10);
  const auto g = a.out.one<grant>();
  a.offer(0, 0, 10);  // crossed the grant: about requests that the batch may have taken
  a.answer(g, 1, 10);
  CHECK(a.out.silent());
  a.offer(0, 1, 10);
  a.run_until(at(1));
  CHECK(a.out.one<grant>().slot == slot_id{1});
}

TEST_CASE("rank_arbiter: a candidate without rows withdraws the one before") {
  arbiter_stage a;
  a.offer(0, 5, 10);
  a.offer(0, 5, 10, {}, 0);
  a.run_until(at(20));
  CHECK(a.out.silent());
}

TEST_CASE("rank_arbiter: grants go to the urgent first, and to the lowest slot") {
  arbiter_stage a(2);
  a.note(candidate{model_id{0}, 1, 1, at(3), at(30), {}}, queue_of(0));
  a.note(candidate{model_id{1}, 1, 1, at(2), at(20), {}}, queue_of(1));
  a.note(candidate{model_id{2}, 1, 1, at(1), at(25), {}}, queue_of(2));
  a.run_until(at(3));
  const auto first = a.out.take<grant>();
  REQUIRE(first.size() == 2);
  CHECK(first[0].model == model_id{2});
  CHECK(first[0].slot == slot_id{0});
  CHECK(first[1].model == model_id{1});
  CHECK(first[1].slot == slot_id{1});
  a.offer(3, 4, 15);
  a.run_until(at(5));
  a.answer(first[0], 1, 10);
  a.run_until(at(10));
  CHECK(a.out.one<grant>().model == model_id{3});  // waited with model 0, must start sooner
}

TEST_CASE("rank_arbiter: the slots of a node that dies or leaves are granted no more") {
  for (const shell_message& end :
       {shell_message{node_down{worker_node, {12}}}, shell_message{node_leaving{worker_node, {12}}}}) {
    arbiter_stage a;
    a.tell(end);
    a.offer(0, 0, 10);
    a.run_until(at(5));
    CHECK(a.out.silent());
    a.tell(has_all(0, 13));
    CHECK(a.out.one<grant>().worker == worker_of(0, 13));
  }
}

TEST_CASE("rank_arbiter: the death of another life changes nothing") {
  arbiter_stage a;
  a.tell(node_down{worker_node, {11}});
  a.tell(has_all(0));
  a.offer(0, 0, 10);
  CHECK(a.out.take<grant>().size() == 1);
}

TEST_CASE("rank_arbiter: an answer about a slot that died meanwhile does not occupy its next life") {
  arbiter_stage a;
  a.offer(0, 0, 100);
  const auto g = a.out.one<grant>();
  a.tell(node_down{worker_node, {12}});
  a.tell(has_all(0, 13));
  a.answer(g, 1, 50);
  a.offer(0, 0, 100);
  const auto again = a.out.one<grant>();
  CHECK(again.worker == worker_of(0, 13));
  // Two ahead would be possible at once if the lost batch counted.
  a.answer(again, 2, 10);
  a.done(2, 0, 0, 3);
  a.offer(0, 0, 100);
  a.run_until(at(3));
  CHECK(a.out.take<grant>().size() == 1);
}

TEST_CASE("rank_arbiter: a suspect runs when its worker has nothing else to do, and nothing runs beside it") {
  arbiter_stage a(2);  // of one node
  a.offer(0, 0, 100);
  a.answer(a.out.one<grant>(), 1, 10);
  a.suspect(1);
  a.offer(2, 0, 100);
  CHECK(a.out.silent());
  a.done(1, 0, 0, 10);
  const auto alone = a.out.one<grant>();
  CHECK(alone.alone);
  CHECK(alone.model == model_id{1});
  CHECK(alone.worker == worker_of(0));
  a.answer_alone(alone, 5);
  a.suspect(3);
  CHECK(a.out.silent());
  a.run_until(at(20));
  a.done(5, 1, 0, 20);
  const auto next = a.out.one<grant>();  // the other suspect, before the node is given back
  CHECK(next.alone);
  CHECK(next.model == model_id{3});
  a.answer_alone(next, 6);
  a.done(6, 3, 0, 20);
  const auto after = a.out.one<grant>();
  CHECK_FALSE(after.alone);
  CHECK(after.model == model_id{2});
}

TEST_CASE("rank_arbiter: a promise made before a suspect came is kept first") {
  arbiter_stage a;
  a.offer(0, 0, 100);
  const auto promised = a.out.one<grant>();
  a.suspect(1);
  CHECK(a.out.silent());
  a.answer(promised, 1, 10);
  CHECK(a.out.silent());
  a.done(1, 0, 0, 10);
  CHECK(a.out.one<grant>().alone);
}

TEST_CASE("rank_arbiter: the least busy node is kept free for a suspect, and the others go on") {
  arbiter_stage a(2);
  auto elsewhere = has_all(2);
  elsewhere.worker.node = node_id{7};
  a.tell(elsewhere);
  a.offer(0, 0, 100);
  a.answer(a.out.one<grant>(), 1, 10);
  a.suspect(1);
  CHECK(a.out.one<grant>().slot == slot_id{2});
  a.offer(2, 0, 100);
  CHECK(a.out.one<grant>().slot == slot_id{1});
}

TEST_CASE("rank_arbiter: a suspect goes to a node that has its model, however busy others keep it") {
  arbiter_stage a(2);
  a.tell(ready_on(node_id{7}, 2));  // model 0 only
  a.offer(1, 0, 100);
  a.answer(a.out.one<grant>(), 1, 10);
  a.suspect(1);
  CHECK(a.out.silent());
  a.offer(0, 0, 100);
  CHECK(a.out.one<grant>().slot == slot_id{2});
  a.done(1, 1, 0, 10);
  const auto alone = a.out.one<grant>();
  CHECK(alone.alone);
  CHECK(alone.slot == slot_id{0});
}

TEST_CASE("rank_arbiter: suspects of models on different nodes are tried one node after the other") {
  arbiter_stage a(1);
  a.tell(ready_on(node_id{7}, 2));  // model 0 only
  a.suspect(1);
  const auto first = a.out.one<grant>();
  CHECK(first.slot == slot_id{0});
  a.answer_alone(first, 5);
  auto only_here = ready_on(node_id{8}, 3);
  only_here.models[0].model = model_id{9};
  a.tell(only_here);
  a.suspect(9);
  CHECK(a.out.silent());
  a.done(5, 1, 0, 10);
  const auto second = a.out.one<grant>();
  CHECK(second.alone);
  CHECK(second.slot == slot_id{3});
  a.offer(1, 0, 100);
  CHECK(a.out.one<grant>().slot == slot_id{0});  // given back
}

TEST_CASE("rank_arbiter: a suspect whose model nobody has keeps no other waiting, and takes no node") {
  arbiter_stage a(1);
  a.suspect(9);
  a.offer(0, 0, 100);
  CHECK_FALSE(a.out.one<grant>().alone);
  arbiter_stage b(1);
  b.suspect(9);
  b.suspect(1);
  CHECK(b.out.one<grant>().model == model_id{1});
}

TEST_CASE("rank_arbiter: a grant whose queue went away keeps no suspect waiting") {
  arbiter_stage a;
  a.offer(0, 0, 100);
  CHECK(a.out.take<grant>().size() == 1);
  SUBCASE("its node died") { a.tell(node_down{scheduler_node, {10}}); }
  SUBCASE("its model was undeployed") {
    a.tell(model_change{{3, model_id{0}, deployment_state::undeployed, {}}});
  }
  a.tell(candidate{model_id{1}, 1, 1, a.now, never, {}, true}, queue_of(1, 11));
  CHECK(a.out.one<grant>().alone);
}

TEST_CASE("rank_arbiter: a suspect that kills its worker ends its quarantine with it") {
  arbiter_stage a;
  a.suspect(1);
  a.answer_alone(a.out.one<grant>(), 5);
  a.tell(node_down{worker_node, {12}});
  a.tell(ready(0, 13));
  a.offer(0, 0, 100);
  const auto g = a.out.one<grant>();
  CHECK_FALSE(g.alone);
  CHECK(g.worker == worker_of(0, 13));
}

TEST_CASE("rank_arbiter: a suspect that has gone gives its node back") {
  arbiter_stage a;
  a.suspect(1);
  const auto g = a.out.one<grant>();
  SUBCASE("its queue has none any more") {
    a.tell(occupied{g.model, g.sequence, g.slot, {}, a.now, true}, queue_of(1));
  }
  SUBCASE("it ran") {
    a.answer_alone(g, 5);
    a.done(5, 1, 0, 3);
  }
  a.offer(0, 0, 100);
  CHECK_FALSE(a.out.one<grant>().alone);
}

TEST_CASE("rank_arbiter: a suspect that goes before it runs gives its node back as busy as it is") {
  arbiter_stage a;
  const auto withdraw = [&] {
    a.tell(candidate{model_id{1}, ++a.sequence, 0, a.now, never, {}, true}, queue_of(1));
  };
  a.offer(0, 0, 100, 2ms);
  const auto first = a.out.one<grant>();
  SUBCASE("while a grant is unanswered") {
    a.suspect(1);
    withdraw();
    a.offer(2, 0, 100);
    CHECK(a.out.silent());
    a.answer(first, 1, 10);
  }
  SUBCASE("while a batch runs") {
    a.answer(first, 1, 10);
    a.suspect(1);
    withdraw();
    a.offer(2, 0, 100);
  }
  a.run_until(at(9));
  CHECK(a.out.silent());
  a.run_until(at(10));
  CHECK(a.out.one<grant>().model == model_id{2});
}

TEST_CASE("rank_arbiter: a suspect that goes while its worker has two batches lets no third one in") {
  arbiter_stage a;
  a.offer(0, 0, 100, 2ms);
  a.answer(a.out.one<grant>(), 1, 10);
  a.offer(0, 0, 100, 2ms);
  a.run_until(at(8));
  a.answer(a.out.one<grant>(), 2, 20);
  a.suspect(1);
  a.tell(candidate{model_id{1}, ++a.sequence, 0, a.now, never, {}, true}, queue_of(1));
  a.offer(2, 0, 100);
  a.run_until(at(50));
  CHECK(a.out.silent());
  a.done(1, 0, 0, 50);
  a.run_until(at(60));
  CHECK(a.out.one<grant>().model == model_id{2});
}

TEST_CASE("rank_arbiter: a new life knows neither slots nor queues, and hears no older queue") {
  arbiter_stage a;
  a.offer(0, 5, 10);
  a.tell(reborn{{40}});
  a.tell(has_all(0));
  a.run_until(at(8));
  CHECK(a.out.silent());
  a.offer(0, 8, 10);
  a.run_until(at(9));
  CHECK(a.out.silent());
  a.tell(candidate{model_id{0}, 9, 1, at(9), at(12), {}}, queue_of(0, 40));
  CHECK(a.out.take<grant>().size() == 1);
}

TEST_CASE("rank_arbiter: a slot is granted only to models that it has") {
  arbiter_stage a(2);
  a.tell(ready(0));  // only model 0 is left there
  a.offer(1, 0, 100);
  CHECK(a.out.one<grant>().slot == slot_id{1});
  a.offer(2, 0, 100);
  CHECK(a.out.silent());
  a.tell(has_all(0));
  CHECK(a.out.one<grant>().slot == slot_id{0});
}

TEST_CASE("rank_arbiter: an undeployed model gives its slot back and is granted none any more") {
  arbiter_stage a;
  a.offer(0, 0, 100);
  CHECK(a.out.one<grant>().model == model_id{0});
  a.tell(model_change{{3, model_id{0}, deployment_state::undeployed, {}}});
  a.offer(0, 0, 100);  // from a queue that does not know yet
  CHECK(a.out.silent());
  a.offer(1, 0, 100);
  CHECK(a.out.one<grant>().model == model_id{1});
}

TEST_CASE("rank_arbiter: a grant can be explained by its candidate and the rivals that stood beside it") {
  arbiter_stage a;
  const auto explain = [&](uint64_t sequence) {
    const auto r =
        a.actor.on_command({1, "explain_grant", to_json(explain_grant{model_id{0}, sequence}).dump()}, a.now);
    REQUIRE_MESSAGE(r.ok, r.body);
    return from_json<grant_story>(nlohmann::json::parse(r.body));
  };
  a.offer(0, 3, 8);  // nothing is remembered yet
  CHECK(a.actor.on_command({1, "set_decision_log", R"({"requests": 8})"}, a.now).ok);
  a.run_until(at(1));
  a.offer(0, 4, 8, {}, 3);
  a.offer(1, 9, 12, {}, 5);
  a.run_until(at(4));
  const auto g = a.out.one<grant>();
  CHECK_FALSE(explain(1).known);
  const auto story = explain(g.sequence);
  CHECK(story.known);
  CHECK(story.at == at(4));
  CHECK(story.slot == slot_id{0});
  CHECK(story.since == at(1));
  CHECK(story.rows == 3);
  CHECK(story.exec_at == at(4));
  CHECK(story.latest == at(8));
  REQUIRE(story.rivals.size() == 1);
  CHECK(story.rivals[0].model == model_id{1});
  CHECK(story.rivals[0].rows == 5);
  CHECK(story.rivals[0].latest == at(12));
}

namespace {

/// One slot under Shepherd: a batch of 2 rows of model 0 runs on it until 10.
struct preempting_stage : stage<rank_arbiter> {
  preempting_stage() : stage(the_arbiter, make_matchmaking("shepherd"), logging()) {
    tell(has_all(0));
    offer(0, 2);
    answer(out.one<grant>(), 1, 10);
  }
  static rank_arbiter::options logging() {
    rank_arbiter::options o;
    o.decision_log = 16;
    return o;
  }
  void offer(uint32_t model, uint32_t rows) {
    tell(candidate{model_id{model}, ++sequence, rows, now, never, {}}, queue_of(model));
  }
  void answer(const grant& g, uint64_t batch, double free_at) {
    tell(occupied{g.model, g.sequence, g.slot, {batch}, at(free_at)}, queue_of(g.model.value));
  }
  void done(uint64_t batch, uint32_t model, double begin, double end, refusal why) {
    tell(batch_done{{batch}, model_id{model}, slot_id{0}, why, 1, at(begin), at(end), {}}, worker_of(0));
  }
  uint64_t sequence = 0;
};

}  // namespace

TEST_CASE("rank_arbiter: a grant that preempts, and the slot's state until the worker has told of both") {
  preempting_stage a;
  a.now = at(1);
  a.offer(1, 7);
  const auto g = a.out.one<grant>();
  CHECK(g.preempts);
  CHECK(g.free_at == at(1));
  a.answer(g, 1, 20);
  a.offer(2, 100);
  a.run_until(at(2));
  CHECK(a.out.silent());  // two batches are there: none behind another is stopped
  a.done(1, 0, 0, 2, refusal::preempted);
  const auto next = a.out.one<grant>();
  CHECK(next.preempts);
  CHECK(next.model == model_id{2});
  CHECK(a.figure("troupe_orders_preempted_total") == 1);
  CHECK(a.figure("troupe_orders_refused_total") == 0);
  CHECK(a.figure("troupe_slot_busy_seconds_total") == doctest::Approx(0.002));
}

TEST_CASE("rank_arbiter: a slot runs what it ran if the queue that may preempt has nothing to run") {
  preempting_stage a;
  a.now = at(1);
  a.offer(1, 7);
  a.answer(a.out.one<grant>(), 0, 1);  // "free now", says who does not know better
  a.offer(2, 5);                       // too small to stop 2 rows
  a.run_until(at(9));
  CHECK(a.out.silent());
  a.offer(3, 7);  // 7 ≥ 3.03 · 2
  CHECK(a.out.one<grant>().preempts);
}

TEST_CASE("rank_arbiter: a slot runs what it ran if its worker refuses what was to preempt") {
  preempting_stage a;
  a.now = at(1);
  a.offer(1, 7);
  a.answer(a.out.one<grant>(), 2, 20);
  a.done(2, 1, 1.5, 1.5, refusal::late);
  a.offer(2, 5);
  a.run_until(at(9));
  CHECK(a.out.silent());
  a.run_until(at(10));
  const auto g = a.out.one<grant>();
  CHECK_FALSE(g.preempts);
  CHECK(g.free_at == at(10));
}

TEST_CASE("rank_arbiter: a slot runs what it ran if the queue that may preempt goes away") {
  preempting_stage a;
  a.now = at(1);
  a.offer(1, 7);
  CHECK(a.out.one<grant>().preempts);
  deployment gone;
  gone.model = model_id{1};
  gone.wanted = deployment_state::undeployed;
  a.tell(model_change{gone});
  a.offer(2, 5);
  a.run_until(at(9));
  CHECK(a.out.silent());
  a.run_until(at(10));
  CHECK_FALSE(a.out.one<grant>().preempts);
}

TEST_CASE("rank_arbiter: it tells who took a slot from whom") {
  preempting_stage a;
  a.now = at(1);
  a.offer(1, 7);
  a.answer(a.out.one<grant>(), 1, 20);
  const auto explain = [&](uint32_t model, uint64_t sequence) {
    const auto r = a.actor.on_command(
        {1, "explain_grant", to_json(explain_grant{model_id{model}, sequence}).dump()}, a.now);
    REQUIRE(r.ok);
    return from_json<grant_story>(nlohmann::json::parse(r.body));
  };
  const auto victim = explain(0, 1), winner = explain(1, 2);
  CHECK(winner.preempts);
  CHECK(winner.taken_at == never);
  CHECK_FALSE(victim.preempts);
  CHECK(victim.taken_at == at(1));
  CHECK(victim.taken_by == model_id{1});
  CHECK(victim.taken_rows == 7);
}

TEST_CASE("rank_arbiter: a batch behind one that was late is late once") {
  arbiter_stage a;
  a.offer(0, 0, 100, 2ms);
  a.answer(a.out.one<grant>(), 1, 10);
  a.offer(0, 0, 100, 2ms);
  a.run_until(at(8));
  a.answer(a.out.one<grant>(), 2, 20);
  a.now = at(15);
  a.done(1, 0, 0, 15);  // the second will end at 25
  a.offer(0, 0, 100, 2ms);
  a.run_until(at(23));
  a.answer(a.out.one<grant>(), 3, 35);
  a.now = at(25);
  a.done(2, 0, 0, 25);
  a.offer(0, 0, 100, 2ms);
  a.run_until(at(33));
  CHECK(a.out.one<grant>().free_at == at(35));
}
