// A request router with engine reports set by the test.
#pragma once
#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <utility>

#include "policies/llm/request_router.hpp"

namespace troupe::test {

inline constexpr address gateway_address{node_id{7}, {}, role::llm_gateway, 0};

/// Engines with room for four sequences and 160 positions in blocks of 10.
struct router_stage {
  explicit router_stage(uint32_t engines, std::string_view routing = "punica", uint32_t max_waiting = 100,
                        duration cold_start = {}, bool disaggregated = false)
      : router(options(engines, max_waiting, cold_start, routing == "prefix", disaggregated),
               (*routing_policies().find(routing))()) {
    for (uint32_t i = 0; i < engines; ++i) say(i);
  }
  static request_router::options options(uint32_t engines, uint32_t max_waiting, duration cold_start,
                                         bool by_prefix, bool disaggregated) {
    request_router::options o;
    for (uint32_t i = 0; i < engines; ++i) o.engines.push_back({i});
    o.max_waiting = max_waiting;
    o.cold_start = cold_start;
    o.by_prefix = by_prefix;
    o.disaggregated = disaggregated;
    return o;
  }
  void say(uint32_t engine, float used = 0, bool ready = true) {
    engine_status s;
    s.engine = {engine};
    s.ready = ready;
    s.stage = ready ? instance_stage::serving : instance_stage::loading;
    s.kv_tokens = 160;
    s.block_tokens = 10;
    s.max_sequences = 4;
    s.adapter_slots = 3;
    s.kv_used = used;
    router.on_status(s, now);
  }
  /// It takes no requests.
  void say_stage(uint32_t engine, instance_stage stage, std::string problem = {}) {
    engine_status s;
    s.engine = {engine};
    s.stage = stage;
    s.problem = std::move(problem);
    router.on_status(s, now);
  }
  void know(uint32_t engine, const std::string& adapter) {
    router.on_adapters({{}, {engine}, false, {{adapter, "/"}}, {}});
  }
  routed_request request(uint64_t id) {
    routed_request r;
    r.id = request_id{id};
    r.version = 1;
    r.tokens = 10;
    r.arrival = now;
    return r;
  }
  void add(const routed_request& r) { router.on_route(gateway_address, {{}, false, {r}}, now); }
  void add(uint64_t id) { add(request(id)); }
  /// "1>0 2>1 3!late": in the order of the decisions.
  std::string decide() {
    std::string out;
    for (const auto& d : router.decide(now)) {
      if (!out.empty()) out += ' ';
      out += std::to_string(d.to.id.value);
      out += d.refused == drop_reason::none ? ">" + std::to_string(d.to.to.value)
                                            : "!" + std::string(to_string(d.refused));
    }
    return out;
  }
  void end(request_id id) { router.on_end(id, now); }
  /// Steps of 10 ms, 1 ms for each sequence, 100 us for each token of a prompt; `uncomputed_tokens` are
  /// pending.
  void forecast(uint32_t engine, uint64_t uncomputed_tokens = 0) {
    auto s = router.engines().at({engine}).said;
    s.steps = {10ms, 1ms, 100us};
    s.uncomputed_tokens = uncomputed_tokens;
    router.on_status(s, now);
  }
  uint32_t sequences(uint32_t engine) { return router.engines().at({engine}).sequences; }

  time_point now{1000s};
  request_router router;
};

}  // namespace troupe::test
