// llm_gateway: owns the outcome of every generation request that its node accepted, and what it has got so
// far. Has a router say which engine a request goes to, hands tokens on to clients, takes a request to
// another engine where its sequence goes on, gives up what got no answer in time.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/common/outcome.hpp"
#include "actors/common/tenant_limiter.hpp"
#include "actors/llm/catalog.hpp"
#include "actors/runtime/actor.hpp"
#include "messages/commands/commands.hpp"
#include "policies/common/expiry_queue.hpp"
#include "policies/common/histogram.hpp"
#include "policies/common/ledger.hpp"

namespace troupe {

/// Where tokens and answers go: HTTP, or a simulated client. Called on the gateway's thread.
class completion_port {
 public:
  virtual ~completion_port() = default;
  /// True: this choice has all it wants, and ends here.
  virtual bool token(const generated_token& t) = 0;
  /// Exactly once for each `generation_request`; no token follows.
  virtual void ended(request_id id, const outcome& how) = 0;
  /// What became of a `change_adapter` that a client asked for.
  virtual void adapter_changed(const adapter_changed& a) = 0;
};

class llm_gateway final : public actor {
 public:
  struct options {
    std::vector<std::string> models;   ///< by llm_id
    std::vector<engine_spec> engines;  ///< by engine_id
    std::vector<node_id> routers;      ///< nodes that have them; the first that is up is asked
    size_t max_in_flight = 65536;
    duration drain_timeout{};  ///< it is gone after that at the latest
  };

  /// What is handed in outlives it.
  llm_gateway(address self, outbox& out, const options& o, completion_port& clients, tenant_limiter& tenants,
              llm_catalog& models);

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override;
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override { return draining_ ? "draining" : "serving"; }
  size_t unfinished() const override { return in_flight_.size(); }
  void busy_with(std::vector<node_id>& out) const override;

  const ledger& request_ledger() const { return ledger_; }
  bool balanced() const { return ledger_.balanced(in_flight_.size()); }

 private:
  /// A choice, as its client has seen it.
  struct sequence {
    bool open = true;
    std::vector<llm::token> tokens;
  };
  /// An accepted request without an outcome.
  struct in_flight_request {
    generation asked;  // as the first engine would get it
    std::vector<sequence> sequences;
    uint32_t open = 0;  // of these
    engine_id at = no_engine;
    uint32_t version = 1, attempt = 0;  // see messages/llm/routing.hpp; of `generate`
    uint32_t losses = 0;                // engines that died with it
    time_point accepted_at = never, first_token_at = never, last_token_at = never;

    bool started() const { return first_token_at != never; }
  };
  /// What is kept of a model, by its id.
  struct model_state {
    route next;  ///< sent at the end of the turn, as the next one
    route_ends ended;
    uint64_t prompt_tokens = 0, generated_tokens = 0, moves = 0;
    histogram first_token{histogram::seconds()}, between_tokens{histogram::short_seconds()},
        whole{histogram::seconds()};
  };
  /// Of an adapter, at all engines of its model.
  struct change {
    change_adapter asked;
    std::set<engine_id> awaited, done;
    adapter_changed worst;
  };
  using in_flight_table = std::unordered_map<request_id, in_flight_request>;
  struct load {
    uint32_t running = 0, waiting = 0, engines_up = 0, adapter_slots = 0;
    uint64_t kv_tokens = 0;
    float kv_used = 0;  ///< share
    std::set<std::string> running_adapters, waiting_adapters;
  };

  void accept(generation& g, time_point now);
  void on_tokens(const generated& g, time_point now);
  void on_gone(request_id id, time_point now);
  void cancel_in_engine(request_id id, in_flight_request& f);
  void settle(in_flight_table::iterator f, outcome how, time_point now);
  void settle_all(failure why, time_point now);
  void refuse(const generation& g, drop_reason why, time_point now, duration retry_after = {},
              std::string_view detail = {});
  ledger_report ledger_of_models() const;
  std::vector<load> loads_of_models() const;
  gateway_state describe() const;

  // whereabouts of requests (gateway_routing.cpp)
  void ask_router(request_id id, in_flight_request& f);
  void send_progress(request_id id, in_flight_request& f, uint64_t tokens);
  routed_request routed(request_id id, const in_flight_request& f) const;
  void on_placements(const placements& p, time_point now);
  void give(in_flight_request& f, engine_id to);
  void send_to_engine(engine_id to, generate all);
  void on_drops(const address& from, const drops& d, time_point now);
  void on_node_up(const node_up& n);
  void on_node_down(const node_down& n, time_point now);
  void lose_engine(engine_id id, time_point now);
  bool is_up(engine_id id) const { return nodes_up_.contains(options_.engines[id.value].node); }
  bool any_engine_up(llm_id model) const;
  address address_of(engine_id id) const {
    return on_node(options_.engines[id.value].node, role::llm_engine, id.value);
  }
  node_id router() const;
  void resend_all_to_router();
  void post(time_point now);

  // adapters (gateway_adapters.cpp)
  void begin(change_adapter& c);
  void complete(engine_id id);
  void on_answer(engine_id from, const adapter_changed& a);
  void note(std::map<uint64_t, change>::iterator c, engine_id from, const adapter_changed& a);

  const options options_;
  completion_port& clients_;
  tenant_limiter& tenants_;
  llm_catalog& catalog_;
  bool draining_ = false;
  ledger ledger_;  // its models are llm_ids
  std::vector<model_state> models_;
  std::vector<generate> next_;  // by engine, sent at the end of the turn
  std::unordered_map<node_id, incarnation_id> nodes_up_;
  node_id router_{UINT32_MAX};  // that knows our requests, if it is up
  in_flight_table in_flight_;
  std::vector<request_id> unplaced_;  // their engine is gone, as we see it, but not for the router
  time_point retry_at_ = never;
  expiry_queue expiries_;
  std::map<uint64_t, change> changes_;  // of adapters, by token
  uint64_t late_tokens_ = 0;
};

}  // namespace troupe
