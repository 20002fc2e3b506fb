// A gateway of one language model on two engines, with a client that records tokens and outcomes.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "actors/llm/gateway.hpp"
#include "tests/actors/llm/llm_stage.hpp"

namespace troupe::test {

struct kept_llm_outcome {
  outcome_kind kind{};
  drop_reason reason{};
  failure error{};
  std::string detail;
};

inline constexpr engine_id first_engine{0}, second_engine{1};

inline std::vector<engine_spec> two_engines() { return {{{}, worker_node}, {{}, other_node}}; }

struct llm_gateway_parts : completion_port {
  explicit llm_gateway_parts(const std::vector<tenant_quota>& quotas) : limiter(quotas) {
    cluster.llms.resize(1);
    cluster.llms[0].name = "m";
    cluster.engines = two_engines();
    catalog.emplace(cluster);
  }
  bool token(const generated_token& t) override {
    tokens.push_back(t);
    return enough == t.which;
  }
  void ended(request_id id, const outcome& how) override {
    CHECK(
        outcomes.emplace(id.value, kept_llm_outcome{how.kind, how.reason, how.error, std::string(how.detail)})
            .second);
  }
  void adapter_changed(const troupe::adapter_changed& a) override { changes.push_back(a); }

  cluster_spec cluster;
  std::optional<llm_catalog> catalog;
  tenant_limiter limiter;
  std::vector<generated_token> tokens;
  std::vector<troupe::adapter_changed> changes;
  std::map<uint64_t, kept_llm_outcome> outcomes;
  llm::token enough = -1;
};

struct llm_gateway_stage : llm_gateway_parts, stage<llm_gateway> {
  explicit llm_gateway_stage(const std::vector<tenant_quota>& quotas = {})
      : llm_gateway_parts(quotas),
        stage(the_llm_gateway, options(), static_cast<completion_port&>(*this), limiter, *catalog) {
    deliver(node_up{scheduler_node, {10}});
    deliver(node_up{worker_node, {12}});
    out.forget();
  }
  static llm_gateway::options options() {
    llm_gateway::options o;
    o.models = {"m"};
    o.engines = two_engines();
    o.routers = {scheduler_node};
    o.max_in_flight = 3;
    o.drain_timeout = 7s;
    o.unix_epoch = time_point{-1000s};
    return o;
  }
  /// With the version that the router knows.
  void place(uint64_t id, engine_id to, route_reason why = route_reason::placed) {
    for (const auto& r : out.take<route>())
      for (const auto& asked : r.requests) versions[asked.id.value] = asked.version;
    deliver(placements{{}, {{request_id{id}, versions[id], to, why}}}, the_router);
  }
  /// Asks, and the router chooses the first engine.
  void send_to_engine(uint64_t id, uint32_t tenant = 0, uint32_t choices = 1) {
    ask(id, tenant, choices);
    place(id, first_engine);
  }
  void ask(uint64_t id, uint32_t tenant = 0, uint32_t choices = 1) {
    generation g;
    g.id = request_id{id};
    g.tenant = tenant;
    g.prompt = {1, 2};
    g.max_tokens = 4;
    g.choices = choices;
    g.arrival = now;
    g.deadline = now + 10s;
    deliver(generation_request{{g}});
  }
  void report_ready(engine_id e) {
    engine_status s;
    s.engine = e;
    s.ready = true;
    deliver(s, address{e == first_engine ? worker_node : other_node, {}, role::llm_engine, e.value});
  }
  void get(uint64_t id, llm::token which, finish_reason finish = finish_reason::none, uint32_t choice = 0,
           uint32_t attempt = 1) {
    deliver(generated{{{request_id{id}, attempt, choice, which, -1, {}, finish}}}, the_engine);
  }
  std::map<uint64_t, uint32_t> versions;

  void check_clean() {
    CHECK(actor.balanced());
    CHECK(actor.unfinished() == 0);
  }
};

}  // namespace troupe::test
