// llm_gateway: owns the fate of every request for text that its node accepted. Sends requests to the engine
// of their model, hands tokens on to clients, gives up what got no answer in time.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/llm_catalog.hpp"
#include "actors/outcome.hpp"
#include "actors/shell.hpp"
#include "actors/tenant_desk.hpp"
#include "messages/commands.hpp"
#include "policies/expiries.hpp"
#include "policies/histogram.hpp"
#include "policies/ledger.hpp"

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

class llm_gateway final : public shell {
 public:
  struct options {
    struct model {
      std::string name;
      node_id engine;  ///< its node
    };
    std::vector<model> models;  ///< by llm_id
    size_t max_in_flight = 65536;
    duration drain_timeout{};  ///< it is gone after that at the latest
  };

  /// What is handed in outlives it.
  llm_gateway(address self, outbox& out, const options& o, completion_port& clients, tenant_desk& tenants,
              llm_catalog& models);

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override { return expiries_.next(); }
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override { return draining_ ? "draining" : "serving"; }
  size_t unfinished() const override { return flights_.size(); }
  void busy_with(std::vector<node_id>& out) const override;

  const ledger& books() const { return ledger_; }
  bool balanced() const { return ledger_.balanced(flights_.size()); }

 private:
  /// An accepted request without a fate.
  struct flight {
    llm_id model;
    uint32_t tenant = 0;
    std::vector<bool> open;  // choices that go on
    uint32_t open_count = 0;
    uint64_t prompt_tokens = 0, tokens = 0;
    time_point arrival = never, deadline = never, accepted_at = never;
    time_point first_token_at = never, last_token_at = never;
  };
  /// What is kept of a model, by its id.
  struct model_state {
    generate next;  ///< sent at the end of the turn
    uint64_t prompt_tokens = 0, generated_tokens = 0;
    histogram first_token{histogram::seconds()}, between_tokens{histogram::short_seconds()},
        whole{histogram::seconds()};
  };
  using flights = std::unordered_map<request_id, flight>;

  void accept(generation& g, time_point now);
  void on_tokens(const generated& g, time_point now);
  void change(change_adapter& c);
  void on_gone(request_id id, time_point now);
  void lose_engine(llm_id model, failure why, time_point now);
  void cancel_in_engine(request_id id, const flight& f);
  void settle(flights::iterator f, outcome how, time_point now);
  void refuse(const generation& g, drop_reason why, time_point now, duration retry_after = {},
              std::string_view detail = {});
  address engine_of(llm_id model) const {
    return on_node(options_.models[model.value].engine, role::llm_engine, model.value);
  }
  ledger_report ledger_of_models() const;
  gateway_state describe() const;

  const options options_;
  completion_port& clients_;
  tenant_desk& tenants_;
  llm_catalog& catalog_;
  bool draining_ = false;
  ledger ledger_;  // its models are llm_ids
  std::vector<model_state> models_;
  std::unordered_map<node_id, incarnation> engines_up_;
  flights flights_;
  expiries expiries_;
  std::map<uint64_t, llm_id> changes_;  // of adapters, that engines have not answered
  uint64_t late_tokens_ = 0;
};

}  // namespace troupe
