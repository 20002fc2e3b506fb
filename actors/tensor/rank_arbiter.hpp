// rank_arbiter matches the candidates of model queues to execution slots (Symphony's RankThread, paper §4.2).
// It sees batches, never requests. It grants a slot ahead of the end of its batch by the network delay, so
// that inputs travel while the batch runs, but at most one batch ahead.
//
// The policy may let a grant preempt: the worker is to stop the running batch. The slot has both batches
// until the worker has stopped the first one or refused the second.
//
// Candidates that arrive between a grant and its answer are ignored, because their requests may be in the
// granted batch. A new candidate follows the answer.
//
// Poison retries are granted on a node in quarantine (policies/matchmaking/quarantine.hpp). With standbys,
// every leader candidate has an arbiter; that of a new leader grants once its slots have handed over
// (policies/matchmaking/slot_handover.hpp).
#pragma once
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "actors/runtime/actor.hpp"
#include "messages/cluster/cluster.hpp"
#include "messages/tensor/commands.hpp"
#include "policies/matchmaking/grant_log.hpp"
#include "policies/matchmaking/load_tracker.hpp"
#include "policies/matchmaking/matchmaking.hpp"
#include "policies/matchmaking/model_profiles.hpp"
#include "policies/matchmaking/quarantine.hpp"
#include "policies/matchmaking/slot_handover.hpp"
#include "policies/matchmaking/slot_table.hpp"
#include "policies/scaling/slot_scaling.hpp"

namespace troupe {

class rank_arbiter final : public actor {
 public:
  /// The scheduling domain whose slots it grants. Its number is the index of the arbiter's address.
  struct domain {
    std::string name;                ///< for metrics; empty: there is only one
    std::vector<uint32_t> of_slots;  ///< the domain of each slot; empty: all are in this one
  };
  struct options {
    domain of;
    uint32_t decision_log = 0;                  ///< number of requests whose decisions it remembers
    std::optional<autoscale_spec> autoscale{};  ///< none: no advice
    std::set<slot_id> scalable{};               ///< slots that the advice may be applied to
    bool elected = false;                       ///< grants only in terms that its node leads
    std::vector<node_id> nodes_of_slots{};      ///< if elected: the node of each slot
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
  time_point next_wakeup() const override { return std::min(policy_->wake_at(), scaling_.next_sample()); }
  void report(std::vector<metric>& out) const override;
  command_reply on_command(const command& c, time_point now) override;
  std::string_view state() const override;

 private:
  struct queue {
    address owner;
    uint64_t sequence = 0;           ///< of its newest candidate
    std::optional<address> granted;  ///< the worker of the unanswered grant
    batch_window window;             ///< of its newest candidate
  };

  void start_over(time_point now);
  void on_candidate(const address& from, const candidate& c, time_point now);
  void on_occupied(const occupied& o);
  void on_occupied_alone(const occupied& o);
  void on_done(const batch_done& d);
  void on_slot(const slot_ready& r, time_point now);
  void on_change(const deployment& line, time_point now);
  void on_handover(handover& h, time_point now);
  void on_node_down(const node_down& d, time_point now);
  void begin_service(slot_id id, slot_record& s, time_point now);
  void open_if_known(time_point now);
  void forget_slots(node_id node, incarnation_id incarnation);
  void forget_queue(model_id model, time_point now);
  void grant_poison_retries(time_point now);
  void grant_slots(time_point now);
  void send_backends();
  void set_service(slot_id id, bool in, time_point now);
  arbiter_state describe(time_point now) const;

  const domain domain_;
  std::unique_ptr<matchmaking_policy> policy_;
  load_tracker loads_;
  slot_table slots_;
  std::unordered_map<model_id, queue> queues_;
  quarantine quarantine_;
  slot_handover handover_;
  slot_scaling scaling_;
  model_profiles profiles_;
  std::set<model_id> retired_;            // undeployed: their queues end
  std::vector<match> matches_;            // reused
  std::vector<model_backends> backends_;  // reused
  grant_log log_;
  uint64_t grants_ = 0, refused_ = 0, preempted_ = 0, rests_ = 0;
};

}  // namespace troupe
