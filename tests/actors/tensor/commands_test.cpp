// What actors answer to commands from outside, and do then.
#include "messages/commands/commands.hpp"

#include <nlohmann/json.hpp>

#include "actors/tensor/gateway.hpp"
#include "actors/tensor/rank_arbiter.hpp"
#include "messages/wire/json.hpp"
#include "policies/registry/matchmakings.hpp"
#include "tests/actors/tensor/queue_stage.hpp"
#include "tests/actors/tensor/worker_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

/// A stage whose actor is told commands as a host does.
template <class Actor>
struct command_stage : stage<Actor> {
  using stage<Actor>::stage;
  command_reply order(const char* type, const std::string& fields = {}) {
    const auto r = this->actor.on_command({1, type, fields}, this->now);
    this->actor.on_time(this->now);
    return r;
  }
  template <class Reply>
  Reply ask(const char* type, const std::string& fields = {}) {
    const auto r = order(type, fields);
    REQUIRE_MESSAGE(r.ok, r.body);
    return from_json<Reply>(nlohmann::json::parse(r.body));
  }
};

struct commanded_queue : basic_queue_stage<command_stage<model_queue>> {
  commanded_queue() : basic_queue_stage(options()) {
    deliver(ready(0));
    out.forget();
  }
  static model_queue::options options() {
    auto o = paper_queue();
    o.batching = "deferred";
    o.shedding = "timeout";
    return o;
  }
};

struct commanded_arbiter : command_stage<rank_arbiter> {
  commanded_arbiter() : command_stage(the_arbiter, make_matchmaking("lowest_id")) {
    for (uint32_t i = 0; i < 2; ++i) deliver(ready(i));
  }
  void offer(uint32_t model, uint64_t sequence) {
    deliver(candidate{model_id{model}, sequence, 1, now, now + 50ms, {}},
            {scheduler_node, {10}, role::model_queue, model});
  }
  void answer(const grant& g, uint64_t batch) {
    deliver(occupied{g.model, g.sequence, g.slot, {batch}, now + 10ms},
            {scheduler_node, {10}, role::model_queue, g.model.value});
  }
};

struct commanded_worker : basic_worker_stage<command_stage<gpu_worker>> {
  commanded_worker() { deliver(node_up{gateway_node, {11}}); }
  void order_batch(uint64_t batch, double exec_at) {
    request r;
    r.id = request_id{batch};
    r.gateway = the_gateway;
    deliver(
        batch_order{
            {batch}, {10}, model_id{0}, slot_id{0}, the_queue, now, at(exec_at), at(exec_at + 1), {r}},
        the_queue);
  }
};

struct gateway_surroundings : client_port {
  void answer(request_id id, const outcome& how, std::vector<std::byte>) override {
    outcomes[id.value] = how.reason;
  }
  std::map<uint64_t, drop_reason> outcomes;
  scripted_memory memory{gateway_node};
  tenant_limiter limiter{{}};
};
struct commanded_gateway : gateway_surroundings, command_stage<gateway> {
  commanded_gateway()
      : command_stage(the_gateway, options(), memory, static_cast<client_port&>(*this), limiter) {
    deliver(node_up{scheduler_node, {10}});
  }
  static gateway::options options() {
    gateway::options o;
    o.models = {"m"};
    o.scheduler = scheduler_node;
    return o;
  }
  void arrive(uint64_t id) {
    client_request c;
    c.asked.id = request_id{id};
    c.asked.arrival = now;
    c.asked.deadline = now + 12ms;
    c.asked.input = memory.take(4)->region;
    deliver(c);
  }
  void finish(uint64_t id) {
    deliver(
        completion{
            {9}, 3, {{request_id{id}, 1, failure::none, {}, {}}}, {at(1), at(1), at(2), at(2), at(3), at(8)}},
        worker_of(5));
  }
};

}  // namespace

TEST_CASE("model_queue commands: a paused queue offers nothing and orders nothing, until it is resumed") {
  commanded_queue q;
  q.arrive(1);
  CHECK(q.out.one<candidate>().rows == 1);
  CHECK(q.order("pause_batching").ok);
  CHECK(q.out.one<candidate>().rows == 0);
  q.grant_slot();
  CHECK(q.out.one<occupied>().batch == batch_id{});
  CHECK(q.out.take<batch_order>().empty());
  const auto s = q.ask<queue_state>("get_state");
  CHECK(s.state == "paused");
  CHECK(s.queued_requests == 1);
  CHECK(s.head_deadline_in == 12ms);
  CHECK(s.candidate_rows == 0);
  q.out.forget();
  CHECK(q.order("resume_batching").ok);
  CHECK(q.out.one<candidate>().rows == 1);
  q.order("pause_batching");
  q.run_until(at(20));
  CHECK(q.out.one<drops>().requests.at(0).reason == drop_reason::late);
}

TEST_CASE("model_queue commands: another policy takes over what is queued") {
  commanded_queue q;
  q.arrive(1);
  q.arrive(2);
  q.out.forget();
  CHECK(q.order("set_batching", R"({"batching": "eager", "shedding": "timeout"})").ok);
  const auto c = q.out.one<candidate>();
  CHECK(c.rows == 2);
  CHECK(c.exec_at == q.now);  // eager starts at once
  const auto s = q.ask<queue_state>("get_state");
  CHECK(s.batching == "eager");
  CHECK(s.candidate_rows == 2);
  CHECK(q.order("set_batching", R"({"batching": "lazy", "shedding": "timeout"})").body ==
        "set_batching: there is no policy 'lazy' with shedding 'timeout'");
  q.grant_slot();
  CHECK(q.out.one<batch_order>().requests.size() == 2);
  const auto held = q.ask<open_requests>("list_requests", R"({"limit": 1})");
  CHECK(held.total == 2);
  REQUIRE(held.requests.size() == 1);
  CHECK(held.requests[0].state == "running");
}

TEST_CASE("model_queue commands: a tighter SLO counts for requests that come later") {
  commanded_queue q;
  CHECK(q.order("set_slo", R"({"slo": 9000000})").ok);
  q.arrive(1);
  CHECK(q.out.one<candidate>().latest == at(3));  // 9 - ℓ(1)
  CHECK(q.order("set_slo", R"({"slo": -1})").body == "set_slo.slo: must be from 0 to a day");
}

TEST_CASE("rank_arbiter commands: a slot out of service is granted no more, until it is put back") {
  commanded_arbiter a;
  a.offer(0, 1);
  a.answer(a.out.one<grant>(), 1);  // slot 0 runs
  CHECK(a.order("take_slot_out", R"({"slot": 0})").ok);
  CHECK(a.order("take_slot_out", R"({"slot": 1})").ok);
  CHECK(a.out.take<slot_service>().size() == 2);
  a.offer(0, 2);
  a.run_until(at(30));
  CHECK(a.out.take<grant>().empty());
  auto s = a.ask<arbiter_state>("get_state");
  REQUIRE(s.slots.size() == 2);
  CHECK(s.slots[0].state == "out_of_service");
  CHECK(s.slots[0].orders == 1);
  REQUIRE(s.candidates.size() == 1);
  CHECK(s.candidates[0].rows == 1);
  a.deliver(ready(1, 13));  // a new incarnation does not put it back
  a.run_until(at(31));
  CHECK(a.out.take<grant>().empty());
  CHECK(a.order("put_slot_back", R"({"slot": 1})").ok);
  CHECK(a.out.one<slot_service>().in);
  CHECK(a.out.one<grant>().slot == slot_id{1});
  CHECK(a.order("put_slot_back", R"({"slot": 1})").body ==
        "put_slot_back.slot: this slot is not out of service");
  CHECK(a.order("take_slot_out", R"({"slot": 9})").body == "take_slot_out.slot: no such slot is up");
}

TEST_CASE("rank_arbiter commands: a slot that comes back while a grant on it is open is not granted twice") {
  commanded_arbiter a;
  a.offer(0, 1);
  const auto open = a.out.one<grant>();
  a.order("take_slot_out", R"({"slot": 1})");
  a.order("take_slot_out", R"({"slot": 0})");
  a.order("put_slot_back", R"({"slot": 0})");
  a.answer(open, 1);
  a.offer(0, 2);
  a.run_until(at(9.9));
  CHECK(a.out.take<grant>().empty());
  a.run_until(at(10));
  CHECK(a.out.one<grant>().free_at == at(10));
}

TEST_CASE("gpu_worker commands: it says what it holds, and records its batches while told to") {
  commanded_worker w;
  CHECK(w.ask<worker_state>("get_state").state == "loading");
  w.load(0, 0);
  CHECK(w.ask<worker_state>("get_state").state == "idle");
  CHECK(w.order("take_trace", R"({"limit": 5})").body == "nothing is recorded; send start_trace first");
  CHECK(w.order("start_trace", R"({"capacity": 2, "sample": 1})").ok);
  w.order_batch(1, 3);
  auto s = w.ask<worker_state>("get_state");
  CHECK(s.state == "running");
  REQUIRE(s.batches.size() == 1);
  CHECK(s.batches[0].running);
  CHECK(s.batches[0].starts_in == 3ms);
  w.run_until(at(20));
  for (uint64_t batch = 2; batch <= 4; ++batch) w.order_batch(batch, 10);  // too late: refused
  const auto t = w.ask<traced_batches>("take_trace", R"({"limit": 5})");
  CHECK(t.lost == 2);
  REQUIRE(t.batches.size() == 2);
  CHECK(t.batches[1].batch == batch_id{4});
  CHECK(t.batches[1].refused == "late");
  CHECK(w.order("stop_trace").ok);
}

TEST_CASE("gpu_worker commands: it remembers the last batches that ran, and lists those after a number") {
  commanded_worker w;
  w.load(0, 0);
  const char* all_of_them = R"({"after": 0, "limit": 1000})";
  CHECK(w.ask<past_batches>("list_batches", all_of_them).batches.empty());
  w.order_batch(1, 3);
  w.run_until(at(20));
  w.order_batch(2, 10);  // too late: never ran
  w.order_batch(3, 30);
  w.run_until(at(60));
  const auto all = w.ask<past_batches>("list_batches", all_of_them).batches;
  REQUIRE(all.size() == 2);
  CHECK(all[0].number == 1);
  CHECK(all[0].requests == 1);
  CHECK(all[0].rows == 1);
  CHECK(all[0].took == 6ms);
  CHECK(all[0].ended_ago == 54ms);
  CHECK_FALSE(all[0].stopped);
  const auto later = w.ask<past_batches>("list_batches", R"({"after": 1, "limit": 9})").batches;
  REQUIRE(later.size() == 1);
  CHECK(later[0].number == 2);
  CHECK(w.ask<past_batches>("list_batches", R"({"after": 0, "limit": 1})").batches.at(0).number == 2);
  CHECK(w.ask<past_batches>("list_batches", R"({"after": 2, "limit": 9})").batches.empty());
  for (uint64_t batch = 4; batch < 4 + 520; ++batch) {
    w.order_batch(batch, 1e6);
    w.run_until(w.now + 10ms);
  }
  const auto kept = w.ask<past_batches>("list_batches", all_of_them).batches;
  REQUIRE(kept.size() == 512);
  CHECK(kept.front().number == 11);
  CHECK(kept.back().number == 522);
}

TEST_CASE("gateway commands: it keeps a ledger, gives requests up and records them while told to") {
  commanded_gateway g;
  CHECK(g.order("start_trace", R"({"capacity": 10, "sample": 0})").body ==
        "start_trace.sample: must be 1 or more");
  CHECK(g.order("start_trace", R"({"capacity": 10, "sample": 1})").ok);
  g.arrive(1);
  g.arrive(2);
  g.run_until(at(9));
  const auto open = g.ask<open_requests>("list_requests", R"({"limit": 10})");
  CHECK(open.total == 2);
  CHECK(open.requests.at(0).age == 9ms);
  CHECK(open.requests.at(0).deadline_in == 3ms);
  g.finish(1);
  CHECK(g.order("cancel_request", R"({"id": 2})").ok);
  CHECK(g.outcomes.at(2) == drop_reason::cancelled);
  CHECK_FALSE(g.order("cancel_request", R"({"id": 2})").ok);
  const auto state = g.ask<gateway_state>("get_state");
  CHECK(state.accepted == 2);
  CHECK(state.finished == 1);
  CHECK(state.dropped == 1);
  CHECK(state.balanced);
  const auto report = g.ask<ledger_report>("get_ledger");
  CHECK(report.models.at(0).in_time == 1);
  CHECK(report.models.at(0).dropped.at(0).reason == "cancelled");
  const auto latencies = g.ask<latency_report>("get_latencies");
  REQUIRE(latencies.models.at(0).counts.size() == 1);
  CHECK(to_ms(latencies.models[0].counts[0].latency) == doctest::Approx(9).epsilon(0.01));
  const auto t = g.ask<traced_requests>("take_trace", R"({"limit": 10})");
  REQUIRE(t.requests.size() == 2);
  CHECK(t.requests[0].outcome == "finished");
  CHECK(t.requests[0].batch == batch_id{9});
  CHECK(t.requests[0].slot == slot_id{5});
  CHECK(t.requests[0].times.started_at == at(3));
  CHECK(t.requests[0].answered_at == at(9));
  CHECK(t.requests[1].reason == "cancelled");
}
