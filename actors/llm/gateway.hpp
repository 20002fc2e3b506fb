// llm_gateway owns the outcome and the tokens of every generation request that its node accepts. It asks a
// router for an engine, sends the request there, passes its tokens to the client, has the request handed over
// to another engine when the router decides so, and fails requests without an answer in time.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "actors/common/in_flight_requests.hpp"
#include "actors/common/outcome.hpp"
#include "actors/common/tenant_limiter.hpp"
#include "actors/llm/catalog.hpp"
#include "actors/llm/in_flight_generation.hpp"
#include "actors/llm/serving_nodes.hpp"
#include "actors/runtime/actor.hpp"
#include "messages/llm/commands.hpp"
#include "policies/common/histogram.hpp"
#include "policies/llm/adapter_changes.hpp"
#include "policies/llm/pending_generations.hpp"
#include "policies/llm/router_updates.hpp"

namespace troupe {

/// Receives tokens and outcomes: HTTP, or a simulated client. Called in turns of the gateway.
class completion_port {
 public:
  virtual ~completion_port() = default;
  /// True: the client needs no more tokens of this choice, which ends here.
  virtual bool token(const generated_token& t) = 0;
  /// Exactly once for each request; no token follows.
  virtual void ended(request_id id, const outcome& how) = 0;
  /// The result of a `change_adapter` that a client asked for.
  virtual void adapter_changed(const adapter_changed& a) = 0;
};

class llm_gateway final : public actor {
 public:
  struct options {
    std::vector<std::string> models;  ///< by llm_id
    /// By llm_id: tokens of a KV block, if its router places requests by the blocks of their prompts; else 0
    /// or absent.
    std::vector<uint32_t> prefix_blocks;
    std::vector<engine_spec> engines;  ///< by engine_id
    std::vector<node_id> routers;      ///< nodes with routers; the first that is up is used
    size_t max_in_flight = 65536;
    duration drain_timeout{};    ///< `retry_after` of requests refused while draining
    duration join_timeout = 9s;  ///< after a new incarnation, until engines that served no longer count
    time_point unix_epoch{};     ///< 1970, by this node's clock; for metrics
  };

  /// `clients`, `tenants` and `models` outlive it.
  llm_gateway(address self, outbox& out, const options& o, completion_port& clients, tenant_limiter& tenants,
              llm_catalog& models);

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override;
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override { return in_flight_.draining() ? "draining" : "serving"; }
  size_t unfinished() const override { return in_flight_.size(); }
  void busy_with(std::vector<node_id>& out) const override;

  const ledger& request_ledger() const { return in_flight_.counts(); }
  bool balanced() const { return in_flight_.balanced(); }

 private:
  /// The metrics of a model.
  struct model_state {
    uint64_t prompt_tokens = 0, generated_tokens = 0, moves = 0;
    uint64_t cache_queries = 0, cache_hits = 0;  ///< tokens of prompts, on engines with a prefix cache
    time_point adapters_changed_at = long_ago;   ///< those of running or waiting sequences
    histogram first_token{histogram::seconds()}, between_tokens{histogram::short_seconds()},
        whole{histogram::seconds()};
  };

  void accept(generation& g, time_point now);
  void on_tokens(const generated& g, time_point now);
  void on_placements(const placements& p, time_point now);
  void on_handed_over(handed_over& h, time_point now);
  void on_drops(const address& from, const drops& d, time_point now);
  void on_gone(request_id id, time_point now);
  void on_node_down(const node_down& n, time_point now);
  void on_change_adapter(change_adapter& c);

  /// Sends the router the state of the request: its engine, or none, and its progress.
  void ask_router(in_flight_generation& f);
  void resend_all_to_router();
  /// Sends the request to an engine, which continues after the tokens that the client has.
  void give(in_flight_generation& f, engine_id to, kv_offer kv = {});
  /// Nobody pulls these blocks.
  void give_up(const kv_offer& o);
  void cancel_in_engine(in_flight_generation& f);
  void lose_engine(engine_id id, time_point now);
  void begin_anew(time_point now);
  /// Sends an engine the adapters that it lacks and other engines of its model have.
  void bring_adapters(engine_id id);
  void conclude(const adapter_changes::settled& s);
  /// Takes the request from the table and reports its outcome to the client.
  void settle(request_id id, outcome how, time_point now);
  void fail(const std::vector<request_id>& ids, failure why, time_point now);
  void post(time_point now);

  const options options_;
  completion_port& clients_;
  llm_catalog& catalog_;
  in_flight_requests<in_flight_generation> in_flight_;
  std::vector<model_state> models_;  // by llm_id
  serving_nodes nodes_;
  node_id router_ = no_node;  // has the requests of this gateway, if it is up
  router_updates updates_;
  pending_generations pending_;
  adapter_changes adapters_;
  uint64_t late_tokens_ = 0;
};

}  // namespace troupe
