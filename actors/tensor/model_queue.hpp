// model_queue: owns the requests of one model and its batching policy (Symphony's ModelThread, paper §4.2).
// Keeps one candidate registered with the arbiter; forms the final batch when a grant arrives.
//
// A batch that is stopped for a larger one (`refusal::preempted`) comes back: its requests wait again, those
// that cannot be in time any more are dropped.
//
// When a worker dies, each request that was ordered there may have killed it. Such requests run again alone
// (poison retries), one at a time, on a worker that the arbiter keeps free of everything else meanwhile. So
// if both died as processes do that crash, the request did it, and fails as `poison`; if one of them was lost
// otherwise, it fails as `worker_lost`. It kills no third worker, and its neighbours only wait.
//
// A model that moves to another scheduling domain keeps its queue: the queue takes its candidate back from
// the old arbiter, declines what that one may still grant, says when nothing of it runs in the old domain any
// more, and goes on with the arbiter of the new one.
//
// Where standbys are, there is such a queue on every candidate node, and all but those of the
// leader are idle. Those of a new scheduler get from the gateways what has no
// outcome, and from the workers what of it still runs.
#pragma once
#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "messages/commands/commands.hpp"
#include "policies/batching/admission.hpp"
#include "policies/batching/batching.hpp"
#include "policies/batching/decision_log.hpp"
#include "policies/batching/request_table.hpp"

namespace troupe {

class model_queue final : public actor {
 public:
  struct options {
    model_id model;
    std::string name;  ///< for metrics
    address arbiter;
    term_id term;
    bool elected = false;  ///< it serves only in terms of its node, which are in its orders
    network_delay network;
    /// How much later than planned a worker may still start, because threads wake late. The policy must keep
    /// it free too (in `response`): a plan without slack would be refused.
    duration margin{};
    uint32_t max_queued_rows = 8192;
    uint32_t max_attempts = 3;   ///< by workers; how often a gateway submits it does not count
    uint64_t first_batch = 1;    ///< batch ids of an earlier queue of the model are below, in a term
    bool latency_given = false;  ///< by the cluster file; otherwise workers tell
    /// Scheduling domains: that of the model is the arbiter's index.
    std::vector<uint32_t> slot_domains;     ///< by slot; empty: all are in one
    std::vector<std::string> domain_names;  ///< empty: there is one for all
    uint32_t leaving = no_domain;           ///< of the line it began with
    uint64_t revision = 0;                  ///< likewise
    uint32_t decision_log = 0;              ///< remembers the decisions about so many requests
    duration load_report{};                 ///< tells the arbiter so often how requests end; zero: never
    /// What the policy was made of, to make another when told to.
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
    return policy_->queued_requests() + poison_retries_.size() + running_.size();
  }
  void busy_with(std::vector<node_id>& out) const override {
    for (const auto& [id, batch] : running_) out.push_back(batch.worker.node);
  }

 private:
  struct running_batch {
    address worker;
    std::vector<uint32_t> handles;
    time_point first_deadline = long_ago;  ///< of its requests; long_ago: nobody looked
    bool alone = false;                    ///< a poison retry
  };
  struct placement {  ///< a slot that has the model; maybe of a domain that it joins or leaves
    node_id node;
    incarnation_id incarnation;
    latency_model latency;
  };

  uint32_t domain_of(slot_id slot) const {
    return slot.value < options_.slot_domains.size() ? options_.slot_domains[slot.value] : 0;
  }
  /// The model's own domain.
  uint32_t domain() const { return options_.arbiter.index; }
  std::string domain_name() const {
    return domain() < options_.domain_names.size() ? options_.domain_names[domain()] : std::string{};
  }
  void on_change(const deployment& line, time_point now);
  void on_backends(const address& from, const backends& b, time_point now);
  void go_over_to(uint32_t domain, time_point now);
  void report_left();
  void decline(const address& arbiter, const grant& g);
  void take(const request& r, time_point now);
  void on_message_while_leaving(actor_message& m, time_point now);
  uint32_t keep(const request& r, time_point now);
  duration time_alone(const request& r) const;
  bool is_infeasible(const request& r) const;
  uint32_t rows_that_may_wait(const request& r, time_point now);
  void queue_up(uint32_t handle, time_point now);
  void give_up(uint32_t handle, drop_reason why, const drop_grounds& g, time_point now);
  std::vector<uint32_t> take_out(const std::function<bool(const request&)>& leaves);
  void give_up_cancelled(time_point now);
  void start_over();
  void forget_requests();
  void on_leadership(const leadership& t, time_point now);
  void hold(const request& r);
  void keep_early(const batch_done& d);
  void adopt(const handover& h, time_point now);
  bool is_leader() const { return !options_.elected || options_.term != term_id{}; }
  void on_grant(const grant& g, time_point now);
  void on_grant_alone(const grant& g, time_point now);
  void order(const grant& g, batch_order o, running_batch running, time_point free_at, time_point now);
  bool has_placement(const grant& g) const;
  void on_done(const batch_done& d, time_point now);
  void on_slot(const slot_ready& s);
  void apply_placements();
  void fail_stale(const running_batch& batch, const batch_done& d);
  void forget_placements(node_id node, incarnation_id incarnation);
  void on_node_down(const node_down& d, time_point now);
  void resubmit(const running_batch& batch, time_point now);
  void run_again(const running_batch& batch, time_point now);
  void on_batch_lost(batch_id id, const running_batch& batch, bool crashed, time_point now);
  void queue_poison_retry(uint32_t handle, time_point now);
  time_point latest_start(const request& r) const;
  void give_up_late_poison_retries(time_point now);
  void forget_gateway(node_id node, incarnation_id incarnation);
  void drop(const request& r, drop_reason why);
  void send_drops(time_point now);
  void send_candidate(time_point now);
  void offer_poison_retry(time_point now);
  void report_load(time_point now);

  queue_state describe(time_point now) const;
  open_requests list(const list_requests& asked, time_point now) const;
  // What it remembers of its decisions (model_queue_decisions.cpp).
  decision_log::known_request known(uint32_t handle) const;
  void log_batch(const grant& g, const batch_order& o, uint32_t rows, time_point end, time_point now);
  void log_end(const batch_done& d, time_point now);
  request_story explain(request_id id) const;
  batch_decision describe_batch(const decision_log::granted_request& g) const;
  void set_policy(std::unique_ptr<batching_policy> policy, time_point now);
  std::vector<bool> running_requests() const;
  time_point planned_deadline(const request& r) const;

  options options_;
  std::unique_ptr<batching_policy> policy_;
  request_table requests_;
  std::vector<uint32_t>
      poison_retries_;  ///< handles of those that wait for their poison retry, by their latest start
  bool poison_retry_offered_ = false;
  time_point offer_poison_retry_at_ = long_ago;
  std::unordered_map<slot_id, placement> placements_;
  uint32_t placements_here_ = 0;      ///< of these, in the model's own domain
  bool placements_changed_ = false;   ///< and the plans do not know it yet
  std::set<slot_id> out_of_service_;  ///< as the arbiter said
  std::unordered_map<batch_id, running_batch> running_;
  leadership leadership_;
  std::set<request_id> adopted_;          ///< ran when this term began: nobody needs to submit them
  std::map<batch_id, batch_done> early_;  ///< of a term: overtook the handovers of their batches
  std::vector<request> held_;             ///< came before it heard of any term
  std::vector<request_id> cancelled_;     ///< in this turn
  std::vector<std::pair<address, drops>> pending_drops_;  ///< by gateway, sent at the end of the turn

  std::optional<model_idle> leaves_;  ///< to be told once nothing runs in the domain that it leaves
  uint32_t left_domain_ = no_domain;
  queue_load load_;  ///< not told yet
  time_point report_load_at_ = long_ago;

  bool ended_ = false;
  bool paused_ = false;
  duration planned_slo_{};  ///< zero: the requests' own

  decision_log log_;
  batch_window sent_window_;
  std::vector<slot_id> sent_slots_;  ///< that it was for
  admission admission_;
  uint32_t last_batch_rows_ = 1;
  uint64_t sequence_ = 0;
  uint64_t next_batch_;
  std::vector<queued_request> batch_;            // reused
  std::vector<dropped_queued_request> dropped_;  // reused

  uint64_t received_ = 0, batches_ = 0, batched_rows_ = 0, resubmitted_ = 0, preempted_ = 0,
           lost_with_gateway_ = 0, poisoned_ = 0;
  std::array<uint64_t, drop_reason_count> drops_{};
};

}  // namespace troupe
