// model_queue owns the requests of one model and its batching policy (Symphony's ModelThread, paper §4.2). It
// keeps one candidate registered with the arbiter and forms the final batch when a grant arrives.
//
// Classes in policies/batching decide: request_queue (admission, batches, drops), batch_returns (requests of
// batches that ran, were refused or stopped, or lost their worker), poison_retry_queue, model_placements,
// domain_move and queue_leadership. The queue translates between them and the arbiter, the workers and the
// gateways.
//
// A model that moves to another scheduling domain keeps its queue. The queue withdraws its candidate from the
// old arbiter, continues with the arbiter of the new domain, declines late grants of the old one, and tells
// the deployer once no batch of the model runs in the old domain.
#pragma once
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "messages/cluster/membership.hpp"
#include "messages/tensor/commands.hpp"
#include "policies/batching/batching.hpp"
#include "policies/batching/domain_move.hpp"
#include "policies/batching/in_flight_batches.hpp"
#include "policies/batching/model_placements.hpp"
#include "policies/batching/queue_leadership.hpp"
#include "policies/batching/request_queue.hpp"

namespace troupe {

class model_queue final : public actor {
 public:
  struct options {
    model_id model;
    std::string name;  ///< for metrics
    address arbiter;
    term_id term;
    bool elected = false;  ///< serves only in terms that its node leads; `term` is 0 at first
    network_delay network;
    /// How much later than planned a worker may start, because threads wake late. The policy reserves it too
    /// (in `response`), so that plans have this slack.
    duration margin{};
    uint32_t max_queued_rows = 8192;
    uint32_t max_attempts = 3;   ///< by workers; resubmits by gateways do not count
    uint64_t first_batch = 1;    ///< above the batch ids of the model's earlier queues in a term
    bool latency_given = false;  ///< by the cluster file, or learnt; otherwise workers measure it
    /// Scheduling domains; the model's domain is the arbiter's index.
    std::vector<uint32_t> slot_domains;     ///< by slot; empty: all are in one
    std::vector<node_id> slot_nodes;        ///< by slot: the node that a new leader may not have heard of yet
    duration join_timeout{};                ///< from an election until such nodes count as dead
    std::vector<std::string> domain_names;  ///< empty: there is one for all
    uint32_t leaving = no_domain;           ///< of the deployment line that it starts with
    uint64_t revision = 0;                  ///< likewise
    uint32_t decision_log = 0;              ///< number of requests whose decisions it remembers
    duration load_report{};                 ///< interval of queue_load to the arbiter; zero: never
    uint32_t queues = 1;                    ///< of the same model, one for each of its shapes
    /// The definition of the policy, for set_batching.
    std::string batching, shedding;
    batching_parameters parameters;
  };

  model_queue(address self, outbox& out, const options& o, std::unique_ptr<batching_policy> policy);

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override;
  void end(time_point now) override;
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override;
  size_t unfinished() const override {
    return requests_.policy().queued_requests() + requests_.retries().size() + requests_.waiting_for_slot() +
           in_flight_.size();
  }
  void busy_with(std::vector<node_id>& out) const override { in_flight_.append_nodes(out); }

 private:
  void on_message_after_end(actor_message& m, time_point now);
  void take(const request& r, time_point now);
  void give_up_cancelled(time_point now);
  void on_grant(const grant& g, time_point now);
  void on_grant_alone(const grant& g, time_point now);
  void order(const grant& g, request_queue::batch batch, time_point exec_at, time_point start_by,
             time_point run_from, time_point now);
  void decline(const grant& g, const address& arbiter, time_point free_at);
  void on_done(const batch_done& d, time_point now);
  void pass_on(const completion& undelivered);
  void on_node_down(const node_down& d, time_point now);
  void apply_placements();
  void on_change(const deployment& line, time_point now);
  void go_over_to(uint32_t domain, time_point now);
  void on_leadership(const leadership& latest, time_point now);
  void adopt(const handover& h, time_point now);
  void begin_anew();
  void forget_requests();
  void send_candidates(time_point now);
  void send_drops(time_point now);
  queue_state describe(time_point now) const;

  options options_;
  request_queue requests_;
  in_flight_batches in_flight_;
  model_placements placements_;
  domain_move move_;
  queue_leadership leading_;
  leadership leadership_;              // the latest
  std::vector<request_id> cancelled_;  // in this turn
  batch_window sent_window_;           // the candidate that the arbiter knows
  std::vector<slot_id> sent_slots_;    // likewise
  uint64_t sequence_ = 0;              // of candidates
  bool ended_ = false, paused_ = false;
  uint64_t received_ = 0, batches_ = 0, batched_rows_ = 0, resubmitted_ = 0, preempted_ = 0,
           lost_with_gateway_ = 0, poisoned_ = 0;
};

}  // namespace troupe
