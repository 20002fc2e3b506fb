#include "actors/tensor/rank_arbiter.hpp"

#include <nlohmann/json.hpp>

#include "messages/wire/json.hpp"
#include "tests/actors/tensor/arbiter_stage.hpp"

using namespace troupe;
using namespace troupe::test;

TEST_CASE("rank_arbiter: a candidate is granted at its exec_at, with the worker's address") {
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

TEST_CASE("rank_arbiter: a batch that ends early frees its slot at once") {
  arbiter_stage a;
  a.offer(0, 0, 100);
  a.answer(a.out.one<grant>(), 1, 10);
  a.offer(0, 0, 100);
  a.run_until(at(6));
  CHECK(a.out.silent());
  a.done(1, 0, 0, 6);
  CHECK(a.out.one<grant>().free_at == at(6));
}

TEST_CASE("rank_arbiter: a run counts as busy time, a refused order does not") {
  arbiter_stage a;
  a.offer(0, 0, 100);
  a.answer(a.out.one<grant>(), 1, 10);
  a.done(1, 0, 0, 4);
  CHECK(a.value_of("troupe_slot_busy_seconds_total") == doctest::Approx(0.004));
  a.offer(0, 0, 100);
  a.run_until(at(4));
  a.answer(a.out.one<grant>(), 2, 14);
  a.done(2, 0, 0, 4, refusal::late);
  CHECK(a.value_of("troupe_orders_refused_total") == 1);
  CHECK(a.value_of("troupe_slot_busy_seconds_total") == doctest::Approx(0.004));
  a.offer(0, 0, 100);
  CHECK(a.out.take<grant>().size() == 1);
}

TEST_CASE("rank_arbiter: a slot that could move no bytes of a batch rests, if others have its models") {
  enum class others { none, some_models, all_models };
  for (const auto& [there, rows] : {std::pair{others::all_models, 0u},
                                    {others::all_models, 1u},
                                    {others::some_models, 0u},
                                    {others::none, 0u}}) {
    const bool rests = there == others::all_models && rows == 0;
    arbiter_stage a;
    auto other = there == others::all_models ? has_all(1) : ready(1);
    other.worker.node = node_id{9};
    if (there != others::none) a.deliver(other);
    a.offer(0, 0, 1000);
    const auto first = a.out.one<grant>();
    CHECK(first.slot == slot_id{0});
    a.answer(first, 1, 10);
    a.run_until(at(5));
    a.deliver(batch_done{{1}, model_id{0}, slot_id{0}, refusal::none, rows, at(5), at(5), {{7}}},
              worker_of(0));
    a.offer(0, 5, 1000);
    const auto second = a.out.one<grant>();
    CHECK(second.slot == slot_id{rests ? 1u : 0u});
    CHECK(a.value_of("troupe_slot_rests_total") == rests);
    if (!rests) continue;
    a.answer(second, 2, 900);
    a.offer(0, 5, 1000);
    a.run_until(at(104));
    CHECK(a.out.silent());
    a.run_until(at(106));
    CHECK(a.out.one<grant>().slot == slot_id{0});
  }
}

TEST_CASE("rank_arbiter: a batch that ends before its `occupied` leaves no state") {
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

TEST_CASE("rank_arbiter: the most urgent candidate is granted first, on the lowest slot") {
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

TEST_CASE("rank_arbiter: the slots of a node that dies or leaves are no longer granted") {
  for (const actor_message& end :
       {actor_message{node_down{worker_node, {12}}}, actor_message{node_leaving{worker_node, {12}}}}) {
    arbiter_stage a;
    a.deliver(end);
    a.offer(0, 0, 10);
    a.run_until(at(5));
    CHECK(a.out.silent());
    a.deliver(has_all(0, 13));
    CHECK(a.out.one<grant>().worker == worker_of(0, 13));
  }
}

TEST_CASE("rank_arbiter: the death of another incarnation changes nothing") {
  arbiter_stage a;
  a.deliver(node_down{worker_node, {11}});
  a.deliver(has_all(0));
  a.offer(0, 0, 10);
  CHECK(a.out.take<grant>().size() == 1);
}

TEST_CASE("rank_arbiter: an answer about a slot that died meanwhile does not occupy its next incarnation") {
  arbiter_stage a;
  a.offer(0, 0, 100);
  const auto g = a.out.one<grant>();
  a.deliver(node_down{worker_node, {12}});
  a.deliver(has_all(0, 13));
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

TEST_CASE("rank_arbiter: a new incarnation starts without slots and queues, and ignores older queues") {
  arbiter_stage a;
  a.offer(0, 5, 10);
  a.deliver(new_incarnation{{40}});
  a.deliver(has_all(0));
  a.run_until(at(8));
  CHECK(a.out.silent());
  a.offer(0, 8, 10);
  a.run_until(at(9));
  CHECK(a.out.silent());
  a.deliver(candidate{model_id{0}, 9, 1, at(9), at(12), {}}, queue_of(0, 40));
  CHECK(a.out.take<grant>().size() == 1);
}

TEST_CASE("rank_arbiter: a slot is granted only to models that it has") {
  arbiter_stage a(2);
  a.deliver(ready(0));  // only model 0 is left there
  a.offer(1, 0, 100);
  CHECK(a.out.one<grant>().slot == slot_id{1});
  a.offer(2, 0, 100);
  CHECK(a.out.silent());
  a.deliver(has_all(0));
  CHECK(a.out.one<grant>().slot == slot_id{0});
}

TEST_CASE("rank_arbiter: an undeployed model frees its slot and gets no more grants") {
  arbiter_stage a;
  a.offer(0, 0, 100);
  CHECK(a.out.one<grant>().model == model_id{0});
  a.deliver(model_change{{3, model_id{0}, deployment_state::undeployed, {}}});
  a.offer(0, 0, 100);  // from a queue that does not know yet
  CHECK(a.out.silent());
  a.offer(1, 0, 100);
  CHECK(a.out.one<grant>().model == model_id{1});
}

TEST_CASE("rank_arbiter: the explanation of a grant has its candidate and the competing ones") {
  arbiter_stage a;
  const auto explain = [&](uint64_t sequence) {
    const auto r =
        a.actor.on_command({1, "explain_grant", to_json(explain_grant{model_id{0}, sequence}).dump()}, a.now);
    REQUIRE_MESSAGE(r.ok, r.body);
    return from_json<grant_story>(nlohmann::json::parse(r.body));
  };
  a.offer(0, 3, 8);  // nothing is recorded yet
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

TEST_CASE("rank_arbiter: it grants the slots of its domain only") {
  const rank_arbiter::options right{{"right", {0, 1}}, 0, {}, {}};
  constexpr address self{scheduler_node, {10}, role::rank_arbiter, 1};
  stage<rank_arbiter> a(self, make_matchmaking("lowest_id"), right);
  a.deliver(ready(0));
  CHECK(a.value_of("troupe_slots") == 0);
  a.deliver(candidate{model_id{0}, 1, 1, at(0), at(100), {}}, the_queue);
  CHECK(a.out.take<grant>().empty());
  a.deliver(ready(1));
  CHECK(a.value_of("troupe_slots") == 1);
  CHECK(a.out.one<grant>().slot == slot_id{1});
}
