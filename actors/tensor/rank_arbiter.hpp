// rank_arbiter: matches the candidates of model queues to execution slots (Symphony's RankThread, paper
// §4.2). Sees batches, never requests. Hands out a slot ahead of its end by the network delay, so that inputs
// travel while the previous batch runs, but never more than one batch ahead.
//
// A poison retry (a candidate that must run alone, because it may kill its worker) is no match for the
// policy: the arbiter takes all slots of the least busy worker node that has its model out of it, waits until
// that node has nothing to do, lets poison retries run there one at a time, and puts the slots back.
//
// Where the policy says so, a grant preempts: what its slot runs is to be stopped. Until the worker says that
// it was, or why not, both batches are on the slot.
//
// What a queue sends between a grant and its answer is void: it is about requests that may be in the granted
// batch. The answer is followed by a fresh candidate.
//
// Where standbys are, there is one on every candidate node. That of a new scheduler grants nothing before
// every slot of a living worker has handed over, or its worker's incarnation is over: so nothing runs twice
// at once.
#pragma once
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/commands/commands.hpp"
#include "policies/matchmaking/grant_log.hpp"
#include "policies/matchmaking/load_tracker.hpp"
#include "policies/matchmaking/matchmaking.hpp"
#include "policies/scaling/autoscale_advice.hpp"

namespace troupe {

class rank_arbiter final : public actor {
 public:
  /// The slots that it hands out: those of its scheduling domain, whose number is the index of its address.
  struct domain {
    std::string name;                ///< for metrics; empty: there is only one
    std::vector<uint32_t> of_slots;  ///< the domain of each slot; empty: all are in this one
  };
  struct options {
    domain of;
    uint32_t decision_log = 0;                  ///< remembers the decisions about so many requests
    std::optional<autoscale_spec> autoscale{};  ///< none: no advice
    std::set<slot_id> scalable{};               ///< slots that the advice may be applied to
    bool elected = false;                       ///< it grants only in terms of its node
    std::vector<node_id> nodes_of_slots{};      ///< elected: where each slot is
    // For a policy that places models.
    std::vector<model_spec> models{};  ///< by id
    network_delay network{};
    duration response{};  ///< kept free between the end of a batch and its deadline, slack included
  };

  rank_arbiter(address self, outbox& out, std::unique_ptr<matchmaking_policy> policy, const options& o);
  rank_arbiter(address self, outbox& out, std::unique_ptr<matchmaking_policy> policy)
      : rank_arbiter(self, out, std::move(policy), options{}) {}

  void on(envelope& e, time_point now) override;
  void on_time(time_point now) override;
  time_point next_wakeup() const override { return std::min(policy_->wake_at(), next_sample_); }
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override;

 private:
  struct order {
    batch_id batch;
    model_id model;
    time_point free_at;  ///< planned end
    uint32_t rows = 0;   ///< of the candidate that it was granted to
  };
  struct slot {
    address worker;
    std::vector<model_id> models;     ///< that it has
    std::vector<order> orders;        ///< running and ahead, oldest first: at most two
    std::optional<batch_done> early;  ///< overtook the `occupied` of its batch
    bool promised = false;            ///< a grant of it is unanswered
    duration busy{};                  ///< total, of finished batches
    /// When it can take another batch; `never` while two are under way: it waits until one is done.
    time_point free_at(time_point now) const {
      return orders.size() >= 2 ? never : orders.empty() ? now : orders.back().free_at;
    }
    uint32_t rows() const { return orders.empty() ? 0 : orders.back().rows; }
  };
  struct queue {
    address owner;
    uint64_t sequence = 0;           ///< of its newest candidate
    std::optional<address> granted;  ///< the worker of the grant that it has not answered yet
    uint32_t rows = 0;               ///< of its newest candidate, as below
    time_point exec_at = never, latest = never;
  };

  struct poison_retry {
    model_id model;
    address owner;
    uint64_t sequence;
  };
  /// A worker node that runs poison retries only.
  struct quarantine {
    node_id node;
    incarnation_id incarnation;
    std::optional<model_id> runs;  ///< whose poison retry was granted a slot and is not done
    slot_id slot;
    bool holds(const address& worker) const {
      return worker.node == node && worker.incarnation == incarnation;
    }
  };

  /// A slot has handed over: what it still runs of an earlier term, if anything.
  struct handed_over {
    address worker;
    batch_id batch;
    model_id model;
    uint32_t rows = 0;  ///< of the batch
  };

  void start_over(time_point now);
  void on_leadership(const leadership& t, time_point now);
  void on_node_up(const node_up& n);
  void on_handover(handover& h, time_point now);
  void open_if_known(time_point now);
  void forget_workers(node_id node, incarnation_id incarnation, time_point now);
  void begin_service(slot_id id, slot& s, time_point now);
  bool accepts_orders(slot_id id, const address& worker) const;
  void on_poison_retry(const address& from, const candidate& c);
  bool may_retry(const poison_retry& s, slot_id id, const slot& on) const;
  std::optional<std::pair<size_t, slot_id>> next_poison_retry() const;
  void begin_quarantine();
  void end_quarantine(time_point now);
  void grant_poison_retries(time_point now);
  void on_candidate(const address& from, const candidate& c, time_point now);
  void on_occupied(const occupied& o);
  void on_done(const batch_done& d);
  void on_slot(const slot_ready& s, time_point now);
  void on_change(const deployment& line, time_point now);
  void forget_slots(node_id node, incarnation_id incarnation);
  void forget_queue(model_id model, time_point now);
  void forget_queues(node_id node, incarnation_id incarnation, time_point now);
  arbiter_state describe(time_point now) const;
  void begin_placement(const options& o);
  void place(const deployment& line);
  void learn_latencies(const slot_ready& s);
  void forget_latencies(slot_id id);
  void send_profile(model_id model);
  void send_backends();
  void begin_advice();
  void take_sample(time_point now);
  void apply_advice(time_point now);
  void count_service();
  grant_story explain(const explain_grant& asked) const;
  void set_log(uint32_t requests);
  void set_service(slot_id id, bool in, time_point now);

  const domain domain_;
  std::unique_ptr<matchmaking_policy> policy_;
  load_tracker loads_;
  std::unordered_map<slot_id, slot> slots_;
  std::unordered_map<model_id, queue> queues_;
  std::vector<poison_retry> poison_retries_;  ///< at most one a model, first come first served
  std::optional<quarantine> quarantine_;
  std::set<model_id> retired_;  // undeployed: their queues end
  std::set<slot_id> out_;       ///< of service, also in later incarnations of their workers
  uint32_t in_service_ = 0;     ///< slots that are not
  std::vector<match> matches_;  // reused
  grant_log log_;

  // The advice on how many slots the load needs (rank_arbiter_scale.cpp).
  const std::optional<autoscale_spec> autoscale_;
  const std::set<slot_id> scalable_;
  std::optional<autoscale_advice> advisor_;  ///< while it may grant
  load_sample load_;                         ///< since the last sample
  time_point next_sample_ = never;
  std::set<slot_id> scaled_out_;  ///< of `out_`: by the advice
  uint64_t grants_ = 0, refused_ = 0, preempted_ = 0;

  // What the policy is told of models, and tells queues (rank_arbiter_placement.cpp).
  const bool places_;
  const network_delay network_;
  const duration response_;
  std::map<model_id, model_spec> served_;  ///< in this domain
  /// On the slots that there are, also of models that are yet to come to this domain.
  std::map<model_id, std::map<slot_id, latency_model>> measured_;
  std::vector<model_backends> backends_;  ///< reused

  const bool elected_;
  const std::vector<node_id> nodes_of_slots_;
  leadership leadership_;
  bool open_;                              ///< it may grant
  std::map<slot_id, address> workers_;     ///< elected: of living nodes, those that leave included
  std::map<slot_id, handed_over> handed_;  ///< in this term
};

}  // namespace troupe
