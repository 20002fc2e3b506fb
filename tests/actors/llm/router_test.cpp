#include "actors/llm/router.hpp"

#include "tests/actors/llm/llm_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct router_stage : stage<llm_router> {
  explicit router_stage(duration consolidate_every = {}, duration cold_start = {}, duration load_window = {})
      : stage(the_router, options(consolidate_every, cold_start, load_window)) {
    deliver(node_up{gateway_node, {11}});
    deliver(node_up{worker_node, {12}});
    deliver(node_up{other_node, {13}});
    for (uint32_t i = 0; i < 2; ++i) say(i);
  }
  static llm_router::options options(duration consolidate_every, duration cold_start, duration load_window) {
    llm_router::options o;
    o.name = "m";
    o.routing = "least_loaded";
    o.engines = {{{0}, worker_node}, {{1}, other_node}};
    o.consolidate_every = consolidate_every;
    o.cold_start = cold_start;
    o.load_window = load_window;
    if (cold_start > duration{}) o.pools = {scheduler_node, worker_node};
    return o;
  }
  void say(uint32_t engine, bool ready = true, instance_stage otherwise = instance_stage::loading) {
    engine_status s;
    s.engine = {engine};
    s.ready = ready;
    s.stage = ready ? instance_stage::serving : otherwise;
    s.kv_tokens = 1000;
    s.block_tokens = 10;
    s.max_sequences = 4;
    deliver(s, {engine == 0 ? worker_node : other_node, {}, role::llm_engine, engine});
  }
  void add(uint64_t id) {
    routed_request r;
    r.id = {id};
    r.version = 1;
    r.tokens = 10;
    r.arrival = now;
    deliver(route{{}, false, {r}}, the_llm_gateway);
  }
  llm_router_state state() { return run_command<llm_router_state>(*this, get_state{}); }
  /// The reason of a refusal, or nothing.
  std::string order(const char* type, const std::string& fields) {
    const auto r = actor.on_command({1, type, fields}, now);
    actor.on_time(now);
    return r.ok ? "" : r.body;
  }
};

}  // namespace

TEST_CASE(
    "llm router: it sends placements to the gateway of a request, and nothing to a gateway that is gone") {
  router_stage s;
  s.add(1);
  const auto placed = s.out.take_addressed<placements>();
  REQUIRE(placed.size() == 1);
  CHECK(placed[0].first == the_llm_gateway);
  CHECK(placed[0].second.requests[0].to == engine_id{0});
  CHECK(s.state().requests == 1);
  s.deliver(node_down{gateway_node, {10}});  // an earlier incarnation
  CHECK(s.state().requests == 1);
  s.deliver(node_down{gateway_node, {11}});
  CHECK(s.state().requests == 0);
}

TEST_CASE(
    "llm router: it places no request on a node that is down, and drops requests that no engine can take") {
  router_stage s;
  s.deliver(node_down{worker_node, {12}});
  s.add(1);
  CHECK(s.out.one<placements>().requests[0].to == engine_id{1});
  CHECK(s.state().engines[0].state == "away");
  s.deliver(node_down{other_node, {13}});
  s.add(2);
  const auto refused = s.out.one<drops>().requests;
  CHECK(refused[0].reason == drop_reason::no_capacity);
  CHECK(refused[0].attempt == 1);  // the version
  CHECK(s.state().refused == 1);
}

TEST_CASE("llm router: operators migrate sequences and drain engines, or get the reason for a refusal") {
  router_stage s;
  s.add(1);
  s.add(2);
  s.out.forget();
  CHECK(s.order("migrate", R"({"request": 1, "engine": 1})").empty());
  const auto moved = s.out.one<placements>().requests;
  CHECK(moved[0].why == route_reason::asked);
  CHECK(s.order("migrate", R"({"request": 7, "engine": 1})") == "migrate: there is no request 7");
  CHECK(s.order("drain_engine", R"({"engine": 1, "open": false})").empty());
  CHECK(s.out.one<placements>().requests.size() == 2);
  CHECK(s.state().engines[1].state == "closed");
  CHECK(s.state().drained == 2);
  CHECK(s.order("drain_engine", R"({"engine": 9, "open": false})") ==
        "drain_engine.engine: the model has no engine 9");
  CHECK(s.order("drain_engine", R"({"engine": 1, "open": true})").empty());
  const auto generations = run_command<generation_list>(s, list_generations{1, 1});
  CHECK(generations.total == 2);
  REQUIRE(generations.generations.size() == 1);
  CHECK(generations.generations[0].request == 2);
}

TEST_CASE("llm router: it consolidates at intervals, and reports idle engines") {
  router_stage s(2s);
  s.add(1);
  s.add(2);
  CHECK(s.state().idle_engines == 0);
  CHECK_FALSE(s.state().wants_more);
  s.run_until(s.now + 3s);
  CHECK(s.state().consolidated == 1);
  CHECK(s.state().idle_engines == 1);
  for (uint64_t id = 3; id <= 8; ++id) s.add(id);
  CHECK(s.state().wants_more);
}

TEST_CASE("llm router: a new incarnation of its node starts without engines and requests") {
  router_stage s;
  s.add(1);
  s.deliver(new_incarnation{{20}});
  CHECK(s.state().requests == 0);
  CHECK(s.state().engines[0].state == "away");
}

TEST_CASE("llm router: it asks pools for an instance at most every 100 ms while a request waits for one") {
  router_stage s({}, 1s);
  for (const uint32_t i : {0, 1}) s.say(i, false, instance_stage::idle);
  CHECK(s.out.take<want_instance>().empty());
  s.add(1);
  const auto asked = s.out.take_addressed<want_instance>();
  REQUIRE(asked.size() == 2);
  CHECK(asked[0].first == address{scheduler_node, {}, role::parameter_pool, 0});
  CHECK(asked[1].first.node == worker_node);
  s.run_until(s.now + 50ms);
  s.add(2);
  s.run_until(s.now + 49ms);
  CHECK(s.out.silent());
  s.run_until(s.now + 801ms);
  CHECK(s.out.take<want_instance>().size() == 18);
  CHECK(s.out.silent());
  SUBCASE("one starts") {
    s.say(1);
    CHECK(s.out.one<placements>().requests.size() == 2);
  }
  SUBCASE("none starts in time") {
    s.run_until(s.now + 100ms);
    CHECK(s.out.one<drops>().requests[0].reason == drop_reason::no_capacity);
    s.run_until(s.now + 50ms);
    CHECK(s.out.one<drops>().requests[0].id == request_id{2});
  }
  s.out.forget();
  s.run_until(s.now + 1s);
  CHECK(s.out.silent());
}

TEST_CASE("llm router: requests of an engine that drains migrate") {
  router_stage s({}, 1s);
  s.add(1);
  CHECK(s.out.one<placements>().requests[0].to == engine_id{0});
  s.say(0, false);
  const auto moved = s.out.one<placements>().requests;
  CHECK(moved[0].to == engine_id{1});
  CHECK(moved[0].why == route_reason::drained);
  CHECK(s.out.silent());
}

TEST_CASE("llm router: it reports the load of its model to every scale planner, ten times a second") {
  router_stage s({}, 1s, 2s);
  s.run_until(s.now + 1s);
  s.out.forget();
  for (uint64_t id = 1; id <= 10; ++id) s.add(id);  // eight find a place
  s.run_until(s.now + 1s);
  const auto reports = s.out.take_addressed<measured_load>();
  REQUIRE(reports.size() == 20);
  CHECK(reports[18].first == address{scheduler_node, {}, role::scale_planner, 0});
  CHECK(reports[19].first == address{worker_node, {}, role::scale_planner, 0});
  CHECK(reports[19].second.arriving_per_s == doctest::Approx(50));
  CHECK(reports[19].second.waiting == 2);
  CHECK(reports[19].second.waiting_tokens == 20);
  CHECK(reports[19].second.max_sequences == 4);
}

TEST_CASE("llm router: without a scaling loop it reports no load") {
  router_stage s({}, 1s);
  s.add(1);
  s.run_until(s.now + 1s);
  CHECK(s.out.take<measured_load>().empty());
}
