// Handover of execution slots to the arbiter of a new leader. With standbys, the arbiter of a new leader
// grants nothing until every slot of a living worker has handed over or the worker's incarnation has ended.
// Thus a slot never has two batches at once.
//
// A slot that has handed over refuses orders of earlier terms; its `handover` message
// (messages/tensor/scheduling.hpp) names the batch of an earlier term that it still runs.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "messages/cluster/membership.hpp"
#include "messages/common/ids.hpp"
#include "messages/tensor/scheduling.hpp"
#include "policies/matchmaking/slot_table.hpp"

namespace troupe {

class slot_handover {
 public:
  struct options {
    bool elected = false;  ///< false: there are no standbys, and every slot takes orders at any time
    /// With `elected`: the node of each slot of the domain. A worker may run a batch before its slots are
    /// reported ready.
    std::map<slot_id, node_id> nodes{};
    bool hasty = false;  ///< planted bug: does not wait for the slots
  };
  explicit slot_handover(options o) : options_(std::move(o)), open_(!options_.elected) {}

  /// Whether the arbiter may grant: it leads and knows the orders of earlier terms on all slots.
  bool open() const { return open_; }
  /// Whether the latest known leader is this incarnation of this node.
  bool leads(const address& self) const {
    return self.node == leader_.scheduler && self.incarnation == leader_.incarnation;
  }
  bool has_leader() const { return leader_.term != term_id{}; }

  /// Stores a later leadership. False: not elected, or not later than the known one.
  bool follow(const leadership& latest);
  /// Requires every slot to hand over again before it gets orders.
  void begin_term();
  /// Opens once all slots of living workers have handed over to `self`. True if this call opened it.
  bool open_if_known(const address& self);

  void on_node_up(node_id node, incarnation_id incarnation);
  void on_slot_ready(slot_id slot, const address& worker);
  void on_node_down(node_id node, incarnation_id incarnation);
  /// The arbiter's node begins a new incarnation. Call `begin_term`, too.
  void forget_workers() { workers_.clear(); }

  /// Stores a handover. False: it is of another term, this arbiter does not lead, or it is a duplicate.
  bool on_handover(const handover& h, const address& self);
  /// Notes the end of a batch of an earlier term.
  void on_done(const batch_done& d);

  /// Whether the slot accepts orders of this term.
  bool accepts(slot_id slot, const address& worker) const;
  /// The order of an earlier term that still runs on the slot; its end is unknown.
  std::optional<slot_order> still_runs(slot_id slot, const address& worker) const;

 private:
  struct entry {
    address worker;
    batch_id batch;  ///< still running; 0: none
    model_id model;
    uint32_t rows = 0;  ///< of the batch
  };
  bool handed_over(slot_id slot, const address& worker) const;

  options options_;
  leadership leader_;
  bool open_;
  std::map<slot_id, address> workers_;  ///< with `elected`: of living nodes, draining ones included
  std::map<slot_id, entry> handed_;     ///< in this term
};

}  // namespace troupe
