#include "policies/llm/load_meter.hpp"

#include "tests/policies/llm/request_router_stage.hpp"

using namespace troupe;
using namespace troupe::test;

namespace {

struct metered_router : router_stage {
  explicit metered_router(uint32_t engines) : router_stage(engines) { meter.measure(router, now); }

  void route_one(const routed_request& r) {
    const route message{{}, false, {r}};
    meter.on_route(message, router.requests(), now);
    router.on_route(gateway_address, message, now);
  }
  routed_request of_tokens(uint64_t id, uint64_t tokens) {
    auto r = request(id);
    r.tokens = tokens;
    return r;
  }
  double arriving_after(duration time) {
    now += time;
    return meter.measure(router, now).arriving_per_s;
  }

  load_meter meter{2s};
};

}  // namespace

TEST_CASE("load meter: the tokens of new requests are counted over the window") {
  metered_router s(1);
  for (uint64_t id = 1; id <= 10; ++id, s.now += 200ms) s.route_one(s.of_tokens(id, 100));
  CHECK(s.arriving_after(0s) == doctest::Approx(500));
  CHECK(s.arriving_after(1s) == doctest::Approx(250));
  CHECK(s.arriving_after(2s) == 0);
}

TEST_CASE("load meter: a request that is known, has begun or is older than the window is no arrival") {
  metered_router s(1);
  s.route_one(s.of_tokens(1, 100));
  s.route_one(s.of_tokens(1, 120));  // it has to be placed again
  auto placed = s.of_tokens(2, 100);
  placed.at = {0};
  s.route_one(placed);
  auto started = s.of_tokens(3, 100);
  started.started = true;
  s.route_one(started);
  auto old = s.of_tokens(4, 100);
  old.arrival = s.now - 2s;
  s.route_one(old);
  CHECK(s.arriving_after(2s) == doctest::Approx(50));
}

TEST_CASE("load meter: what waits and runs is summed, what an engine can do is a mean") {
  metered_router s(3);
  engine_status e;
  e.ready = true;
  e.stage = instance_stage::serving;
  e.running = 3;
  e.waiting = 2;
  e.uncomputed_tokens = 50;
  e.kv_used = 0.5;
  e.kv_tokens = 100;
  e.max_sequences = 4;
  e.steps = {10ms, 2ms, 30us};
  s.router.on_status(e, s.now);
  e.engine = {1};
  e.kv_tokens = 300;
  e.max_sequences = 6;
  e.steps = {};  // it has run none
  s.router.on_status(e, s.now);
  e.engine = {2};
  e.ready = false;  // it drains
  e.stage = instance_stage::draining;
  e.steps = {1s, 1s, 1s};
  s.router.on_status(e, s.now);
  const auto l = s.meter.measure(s.router, s.now);
  CHECK(l.running == 9);
  CHECK(l.waiting == 6);
  CHECK(l.uncomputed_tokens == 150);
  CHECK(l.kv_tokens == 350);
  CHECK(l.max_sequences == 5);
  CHECK(l.max_kv_tokens == 200);
  CHECK(l.steps == step_forecast{10ms, 2ms, 30us});
  s.router.lose_engine({1});
  s.router.lose_engine({2});
  CHECK(s.meter.measure(s.router, s.now).running == 3);
}

TEST_CASE("load meter: requests without an engine wait with all of their sequences") {
  metered_router s(1);
  for (uint64_t id = 1; id <= 6; ++id) s.route_one(s.of_tokens(id, 20));
  auto several = s.of_tokens(7, 60);
  several.sequences = 3;
  s.route_one(several);
  s.decide();  // four are placed
  const auto l = s.meter.measure(s.router, s.now);
  CHECK(l.waiting == 5);
  CHECK(l.waiting_tokens == 100);
}

TEST_CASE(
    "load meter: with phases the step times are of what prefills, and decoding is full without room "
    "anywhere") {
  metered_router s(3);
  const auto say = [&](uint32_t engine, instance_phase phase, duration fixed, float used) {
    auto e = s.router.engines().at({engine}).said;
    e.phase = phase;
    e.steps = {fixed, 1ms, 1us};
    e.kv_used = used;
    e.max_sequences = 4;
    s.router.on_status(e, s.now);
  };
  say(0, instance_phase::prefill, 10ms, 0);
  say(1, instance_phase::decode, 30ms, 1);
  say(2, instance_phase::decode, 50ms, 0);
  CHECK(s.meter.measure(s.router, s.now).steps.fixed == 10ms);
  CHECK_FALSE(s.meter.measure(s.router, s.now).decode_full);
  for (const uint32_t engine : {1u, 2u}) {
    auto there = s.of_tokens(engine, 100);
    there.at = {engine};
    s.route_one(there);
  }
  CHECK_FALSE(s.meter.measure(s.router, s.now).decode_full);
  say(2, instance_phase::decode, 50ms, 1);
  CHECK(s.meter.measure(s.router, s.now).decode_full);
  say(0, instance_phase::both, 10ms, 0);
  CHECK_FALSE(s.meter.measure(s.router, s.now).decode_full);
}
