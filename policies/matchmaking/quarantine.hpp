// Poison retries: requests that may kill their worker, each run alone. They are no matches for a matchmaking
// policy: all slots of one worker node are taken out of it, the node finishes its batches, runs poison
// retries one at a time, and gets its slots back.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "messages/common/ids.hpp"
#include "policies/matchmaking/slot_table.hpp"

namespace troupe {

/// A model's candidate that must run alone.
struct poison_retry {
  model_id model;
  address owner;  ///< its queue
  uint64_t sequence = 0;
};

/// Poison retries wait in their order of arrival, at most one a model, and at most one node is in quarantine.
/// A retry whose model no node has delays no other. O(slots) a step with a retry that waits, else O(1).
class quarantine {
 public:
  /// Replaces the retry of its model.
  void add(const poison_retry& r);
  /// The model has none that waits any more.
  void withdraw(model_id model);
  /// The model is undeployed: a retry of it that runs keeps no other waiting, either.
  void remove_model(model_id model);
  void forget_queues(node_id node, incarnation_id incarnation);
  /// The node leaves or is gone: its quarantine ends.
  void forget_node(node_id node, incarnation_id incarnation);
  void clear();

  /// The node of this worker is in quarantine: its slots are not to be in the matchmaking policy.
  bool holds(const address& worker) const {
    return node_ && worker.node == node_->node && worker.incarnation == node_->incarnation;
  }
  /// The retry of this model was granted that slot, and is not done.
  bool runs(model_id model, slot_id slot) const {
    return node_ && node_->runs == model && node_->slot == slot;
  }
  /// The retry that runs is done, or its queue had nothing to run after all.
  void end_run() {
    if (node_) node_->runs.reset();
  }

  struct step {
    std::vector<slot_id> put_back;  ///< into the matchmaking policy, before the next ones are taken
    std::vector<slot_id> taken;     ///< out of the matchmaking policy
    std::optional<std::pair<poison_retry, slot_id>> granted;
  };
  /// What to do now. A node is chosen for the first retry that some node has the model of: the least busy one
  /// (equal: the one with the lowest slot). It is given back when no retry can run on it, but not as long as
  /// a grant of it is unanswered: its slot may be about to get another batch. A grant goes to the lowest slot
  /// with the model.
  step advance(const slot_table& slots);

 private:
  struct held_node {
    node_id node;
    incarnation_id incarnation;
    std::optional<model_id> runs;
    slot_id slot;  ///< where it runs
  };
  std::optional<std::pair<size_t, slot_id>> next_retry(const slot_table& slots) const;
  void end(const slot_table& slots, std::vector<slot_id>& put_back);
  void begin(const slot_table& slots, std::vector<slot_id>& taken);

  std::vector<poison_retry> waiting_;
  std::optional<held_node> node_;
};

}  // namespace troupe
