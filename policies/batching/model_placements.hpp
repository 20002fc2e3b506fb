// The placements of a model: the execution slots that have it, of every scheduling domain.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/tensor/latency.hpp"

namespace troupe {

/// The slots that count for the plans of a queue: those of the model's own domain.
struct model_slots {
  uint32_t here = 0;
  uint32_t in_service = 0;  ///< of these
  latency_model slowest;    ///< the largest α and the largest β of any
  bool replaced = false;    ///< since the last summary; rates that were measured are those of other slots
};

/// A model that moves has placements in two domains for a while; only one of them is its own. Changes are
/// noted at O(log n) and become plans at the next `summary`: in a large cluster they come by the thousand.
class model_placements {
 public:
  /// `slot_domains`: by slot; slots beyond it are in domain 0. `domain`: the model's own.
  model_placements(std::vector<uint32_t> slot_domains, uint32_t domain)
      : slot_domains_(std::move(slot_domains)), domain_(domain) {}

  uint32_t domain_of(slot_id slot) const {
    return slot.value < slot_domains_.size() ? slot_domains_[slot.value] : 0;
  }

  /// A worker has the model on the slot, with that measured latency, or has it not (empty).
  void set(slot_id slot, const address& worker, const std::optional<latency_model>& measured);
  /// The arbiter takes a slot in or out of service; slots are in service until it says otherwise.
  void set_service(slot_id slot, bool in);
  /// Forgets the placements on a node's incarnation.
  void forget(node_id node, incarnation_id incarnation);
  /// Forgets all placements, but not which slots are in service.
  void clear() { placements_.clear(); }
  /// The model's domain is another one. Its arbiter says which slots are in service.
  void go_over_to(uint32_t domain);

  /// That incarnation of a worker has the model on the slot.
  bool has(slot_id slot, incarnation_id incarnation) const;
  /// Something has changed since the last `take_summary`.
  bool changed() const { return changed_; }
  /// O(placements).
  model_slots summary() const;
  /// The summary for the plans; changes are told once.
  model_slots take_summary();

 private:
  struct placement {
    node_id node;
    incarnation_id incarnation;
    latency_model latency;
  };

  std::vector<uint32_t> slot_domains_;
  uint32_t domain_;
  std::unordered_map<slot_id, placement> placements_;
  std::set<slot_id> out_of_service_;
  bool changed_ = false, replaced_ = false;
};

}  // namespace troupe
