#include "actors/tensor/gateway.hpp"

#include "tests/actors/tensor/command_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

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

TEST_CASE("gateway commands: it reports its ledger, cancels requests and records them on command") {
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
