// The handover of execution slots to the arbiter of a new leader. Where the scheduler has standbys, the
// arbiter of a new one grants nothing before every slot of a living worker has handed over, or its worker's
// incarnation is over: so nothing runs twice at once.
//
// A slot that has handed over refuses orders of earlier terms, and says which batch of them it still runs
// (`handover` in messages/tensor/scheduling.hpp).
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
    bool elected = false;  ///< false: there are no standbys, every slot takes orders always
    /// Elected: where each slot of the domain is; a worker may run something before its slots are ready.
    std::map<slot_id, node_id> nodes{};
    bool hasty = false;  ///< a planted bug: does not wait for the slots
  };
  explicit slot_handover(options o) : options_(std::move(o)), open_(!options_.elected) {}

  /// It may grant: it leads, and knows the orders of earlier terms on all slots.
  bool open() const { return open_; }
  /// The latest leader is this actor's incarnation of its node.
  bool leads(const address& self) const {
    return self.node == leader_.scheduler && self.incarnation == leader_.incarnation;
  }
  bool has_leader() const { return leader_.term != term_id{}; }

  /// False: not elected, or no later leadership than the one that it knows.
  bool follow(const leadership& latest);
  /// All slots must hand over before they get anything.
  void begin_term();
  /// True if that opened it: all slots of living workers have handed over to `self`.
  bool open_if_known(const address& self);

  void on_node_up(node_id node, incarnation_id incarnation);
  void on_slot_ready(slot_id slot, const address& worker);
  void on_node_down(node_id node, incarnation_id incarnation);
  /// The node of the arbiter begins a new incarnation; call `begin_term`, too.
  void forget_workers() { workers_.clear(); }

  /// False: of another term, to a leader that is none any more, or known already.
  bool on_handover(const handover& h, const address& self);
  /// The batch that an earlier term left on the slot is done.
  void on_done(const batch_done& d);

  /// Whether the slot takes orders of this term.
  bool accepts(slot_id slot, const address& worker) const;
  /// The order of an earlier term that still runs there. Its end is not known.
  std::optional<slot_order> still_runs(slot_id slot, const address& worker) const;

 private:
  struct entry {
    address worker;
    batch_id batch;  ///< that still runs; 0: none
    model_id model;
    uint32_t rows = 0;  ///< of the batch
  };
  bool handed_over(slot_id slot, const address& worker) const;

  options options_;
  leadership leader_;
  bool open_;
  std::map<slot_id, address> workers_;  ///< elected: of living nodes, those that leave included
  std::map<slot_id, entry> handed_;     ///< in this term
};

}  // namespace troupe
