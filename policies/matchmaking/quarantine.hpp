// Quarantine of a worker node for poison retries, requests that may crash their worker and therefore run
// alone. All slots of the node are taken out of the matchmaking policy; the node finishes its batches, runs
// poison retries one at a time, and gets its slots back.
#pragma once
#include <optional>
#include <utility>
#include <vector>

#include "messages/common/ids.hpp"
#include "policies/matchmaking/slot_table.hpp"

namespace troupe {

/// A candidate of one request that must run alone.
struct poison_retry {
  model_id model;
  address owner;  ///< its queue
  uint64_t sequence = 0;
};

/// Poison retries wait in their order of arrival, at most one per model, and at most one node is in
/// quarantine. A retry whose model no node has does not delay the others. A step costs O(slots) with a
/// waiting retry, else O(1).
class quarantine {
 public:
  /// Adds a retry, replacing a waiting one of the same model.
  void add(const poison_retry& r);
  /// Removes the waiting retry of the model.
  void withdraw(model_id model);
  /// The model is undeployed: removes its waiting retry and no longer waits for its running one.
  void remove_model(model_id model);
  void forget_queues(node_id node, incarnation_id incarnation);
  /// The node drains or is lost: its quarantine ends.
  void forget_node(node_id node, incarnation_id incarnation);
  void clear();

  /// Whether the worker's node is in quarantine, so that its slots must not be in the matchmaking policy.
  bool holds(const address& worker) const {
    return node_ && worker.node == node_->node && worker.incarnation == node_->incarnation;
  }
  /// Whether a retry of this model was granted the slot and has not ended.
  bool runs(model_id model, slot_id slot) const {
    return node_ && node_->runs == model && node_->slot == slot;
  }
  /// The running retry has ended, or its queue declined the grant.
  void end_run() {
    if (node_) node_->runs.reset();
  }

  struct step {
    std::vector<slot_id> put_back;  ///< return to the matchmaking policy, before `taken`
    std::vector<slot_id> taken;     ///< remove from the matchmaking policy
    std::optional<std::pair<poison_retry, slot_id>> granted;
  };
  /// Returns the next actions. The node is chosen for the first waiting retry that some node can run: the
  /// least busy node, then the one with the lowest slot. Its quarantine ends when no waiting retry can run on
  /// it, but not while a grant of one of its slots is unanswered, because that slot may get another batch. A
  /// retry is granted the lowest slot that has its model, once all slots of the node are idle.
  step advance(const slot_table& slots);

 private:
  struct held_node {
    node_id node;
    incarnation_id incarnation;
    std::optional<model_id> runs;
    slot_id slot;  ///< of the running retry
  };
  std::optional<std::pair<size_t, slot_id>> next_retry(const slot_table& slots) const;
  void end(const slot_table& slots, std::vector<slot_id>& put_back);
  void begin(const slot_table& slots, std::vector<slot_id>& taken);

  std::vector<poison_retry> waiting_;
  std::optional<held_node> node_;
};

}  // namespace troupe
