// Grants that preempt the batch on their slot.
#include <nlohmann/json.hpp>

#include "messages/wire/json.hpp"
#include "policies/registry/matchmakings.hpp"
#include "tests/actors/tensor/arbiter_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// One slot under Shepherd: a batch of 2 rows of model 0 runs on it until 10.
struct preempting_stage : stage<rank_arbiter> {
  preempting_stage() : stage(the_arbiter, make_matchmaking("shepherd"), logging()) {
    deliver(has_all(0));
    offer(0, 2);
    answer(out.one<grant>(), 1, 10);
  }
  static rank_arbiter::options logging() {
    rank_arbiter::options o;
    o.decision_log = 16;
    return o;
  }
  void offer(uint32_t model, uint32_t rows) {
    deliver(candidate{model_id{model}, ++sequence, rows, now, never, {}}, queue_of(model));
  }
  void answer(const grant& g, uint64_t batch, double free_at) {
    deliver(occupied{g.model, g.sequence, g.slot, {batch}, at(free_at)}, queue_of(g.model.value));
  }
  void done(uint64_t batch, uint32_t model, double begin, double end, refusal why) {
    deliver(batch_done{{batch}, model_id{model}, slot_id{0}, why, 1, at(begin), at(end), {}}, worker_of(0));
  }
  uint64_t sequence = 0;
};

}  // namespace

TEST_CASE(
    "rank_arbiter: after a preempting grant the next one waits until the worker reports the stopped batch") {
  preempting_stage a;
  a.now = at(1);
  a.offer(1, 7);
  const auto g = a.out.one<grant>();
  CHECK(g.preempts);
  CHECK(g.free_at == at(1));
  a.answer(g, 1, 20);
  a.offer(2, 100);
  a.run_until(at(2));
  CHECK(a.out.silent());  // two batches are there: one behind another is not preempted
  a.done(1, 0, 0, 2, refusal::preempted);
  const auto next = a.out.one<grant>();
  CHECK(next.preempts);
  CHECK(next.model == model_id{2});
  CHECK(a.value_of("troupe_orders_preempted_total") == 1);
  CHECK(a.value_of("troupe_orders_refused_total") == 0);
  CHECK(a.value_of("troupe_slot_busy_seconds_total") == doctest::Approx(0.002));
}

TEST_CASE("rank_arbiter: a slot continues its batch if the preempting queue has nothing to run") {
  preempting_stage a;
  a.now = at(1);
  a.offer(1, 7);
  a.answer(a.out.one<grant>(), 0, 1);  // a queue with nothing to run answers "free now"
  a.offer(2, 5);                       // too small to stop 2 rows
  a.run_until(at(9));
  CHECK(a.out.silent());
  a.offer(3, 7);  // 7 ≥ 3.03 · 2
  CHECK(a.out.one<grant>().preempts);
}

TEST_CASE("rank_arbiter: a slot continues its batch if its worker refuses the preempting one") {
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

TEST_CASE("rank_arbiter: a slot continues its batch if the model of the preempting queue is undeployed") {
  preempting_stage a;
  a.now = at(1);
  a.offer(1, 7);
  CHECK(a.out.one<grant>().preempts);
  deployment gone;
  gone.model = model_id{1};
  gone.wanted = deployment_state::undeployed;
  a.deliver(model_change{gone});
  a.offer(2, 5);
  a.run_until(at(9));
  CHECK(a.out.silent());
  a.run_until(at(10));
  CHECK_FALSE(a.out.one<grant>().preempts);
}

TEST_CASE("rank_arbiter: it records both models of a preemption") {
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

TEST_CASE("rank_arbiter: the delay of a late batch moves the one behind it once") {
  arbiter_stage a;
  a.run_two();
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
