// The placements of a model: the execution slots, of every scheduling domain, that have it.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/tensor/latency.hpp"

namespace troupe {

/// Summary of the placements in the model's own domain, which the queue plans with.
struct model_slots {
  uint32_t here = 0;
  uint32_t in_service = 0;               ///< of these
  latency_model slowest;                 ///< the largest α and the largest β
  bool replaced = false;                 ///< since the last summary: rates measured before are void
  time_point expected_until = long_ago;  ///< until then workers may still report slots
};

/// A model that moves has placements in two domains for a while; only those in its own count. A change costs
/// O(log n) and takes effect at the next `summary`, because a large cluster sends thousands of changes at
/// once.
class model_placements {
 public:
  /// `slot_domains`: by slot; slots beyond it are in domain 0. `domain`: the model's own. `slot_nodes`: the
  /// nodes of the slots that are awaited.
  model_placements(std::vector<uint32_t> slot_domains, uint32_t domain, std::vector<node_id> slot_nodes = {})
      : slot_domains_(std::move(slot_domains)), slot_nodes_(std::move(slot_nodes)), domain_(domain) {}

  uint32_t domain_of(slot_id slot) const {
    return slot.value < slot_domains_.size() ? slot_domains_[slot.value] : 0;
  }

  /// Sets the placement on the slot, with its measured latency; empty: the slot does not have the model.
  void set(slot_id slot, const address& worker, const std::optional<latency_model>& measured);
  /// Takes a slot in or out of service, on the arbiter's report. Slots are in service by default.
  void set_service(slot_id slot, bool in);
  /// Forgets the placements on a node's incarnation.
  void forget(node_id node, incarnation_id incarnation);
  /// Slots that no worker has reported are expected until then, unless their node goes down.
  void await(time_point until);
  /// Forgets all placements, but not which slots are in service. Does not set `changed`: for callers that
  /// tell the arbiter anew anyway.
  void clear();
  /// The model moves to another domain, whose arbiter reports again which slots are out of service.
  void go_over_to(uint32_t domain);

  /// Whether the slot has the model, on that incarnation of its worker.
  bool has(slot_id slot, incarnation_id incarnation) const;
  /// Whether anything has changed since the last `take_summary`.
  bool changed() const { return changed_; }
  /// O(placements).
  model_slots summary() const;
  /// Returns the summary and clears `changed` and `replaced`.
  model_slots take_summary();

 private:
  struct placement {
    node_id node;
    incarnation_id incarnation;
    latency_model latency;
  };

  std::vector<uint32_t> slot_domains_;
  std::vector<node_id> slot_nodes_;
  uint32_t domain_;
  std::unordered_map<slot_id, placement> placements_;
  std::set<slot_id> out_of_service_;
  std::unordered_map<slot_id, incarnation_id> reported_;  ///< with the model or without it
  std::set<slot_id> awaited_;
  time_point awaited_until_ = long_ago;
  bool changed_ = false, replaced_ = false;
};

}  // namespace troupe
