// The execution slots of a scheduling domain, from the view of its arbiter: worker, models, orders (running
// and queued), unanswered grant, and whether the slot is in service.
#pragma once
#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"
#include "messages/tensor/scheduling.hpp"
#include "policies/matchmaking/matchmaking.hpp"

namespace troupe {

/// A batch on a slot.
struct slot_order {
  batch_id batch;
  model_id model;
  time_point free_at;  ///< planned end; `never`: unknown
  uint32_t rows = 0;   ///< of the granted candidate
};

/// One slot, in one incarnation of its worker.
struct slot_record {
  address worker;
  std::vector<model_id> models;       ///< loaded on the slot
  std::vector<slot_order> orders;     ///< running and queued, oldest first: at most two
  std::optional<batch_done> early;    ///< arrived before the `occupied` of its batch
  bool promised = false;              ///< a grant of the slot is unanswered
  bool accepts = false;               ///< takes orders of the arbiter's term
  duration busy{};                    ///< total, of finished batches
  time_point rests_until = long_ago;  ///< takes no further batch before

  bool idle() const { return orders.empty() && !promised; }
  bool has(model_id model) const;
  /// Rows of the last order; 0: no order.
  uint32_t rows() const { return orders.empty() ? 0 : orders.back().rows; }
  /// When the slot can take another batch; `never` while it has two.
  time_point free_at(time_point now) const {
    return orders.size() >= 2 ? never : std::max(rests_until, orders.empty() ? now : orders.back().free_at);
  }
  /// Removes the batch from the slot. If it ran, even without success, its time is added to `busy`; if it
  /// ended late, the end of the next batch is delayed as much. The slot is free at `free_at(d.finished_at)`
  /// then. False: there is no such order; `early` keeps the message until the batch's `occupied` arrives.
  bool finish(const batch_done& d);
};

/// Whether a batch with this outcome occupied its slot.
constexpr bool ran(refusal r) { return r == refusal::none || r == refusal::preempted; }

/// A slot out of service keeps its orders and gets no further ones, also in later incarnations of its worker.
/// Lookups are O(1), lists O(slots). Iteration follows the hash table: deterministic but unsorted.
class slot_table {
 public:
  using records = std::unordered_map<slot_id, slot_record>;

  records::const_iterator begin() const { return records_.begin(); }
  records::const_iterator end() const { return records_.end(); }
  records::iterator begin() { return records_.begin(); }
  records::iterator end() { return records_.end(); }
  bool contains(slot_id id) const { return records_.contains(id); }
  /// Null if there is none. Valid until the slot is removed.
  slot_record* find(slot_id id);
  const slot_record* find(slot_id id) const;
  /// Each model of the slot is on a slot of another node that is in service and does not rest.
  bool can_rest(const slot_record& s, time_point now) const;
  std::vector<slot_id> sorted() const;

  /// Adds a slot; replaces its record of an earlier incarnation.
  slot_record& add(slot_id id, const address& worker, std::vector<model_id> models);
  void remove(slot_id id);
  void clear();
  /// Slots of one incarnation of a node.
  std::vector<slot_id> of(node_id node, incarnation_id incarnation) const;
  /// Clears the orders, unanswered grants and acceptance of the earlier term.
  void begin_term();

  bool is_out(slot_id id) const { return out_.contains(id); }
  const std::set<slot_id>& out_of_service() const { return out_; }
  /// False if nothing changes.
  bool set_service(slot_id id, bool in);
  uint32_t in_service() const { return in_service_; }
  std::map<slot_id, std::span<const model_id>> models_in_service() const;

  /// Adds a known slot to a matchmaking policy, with its models, rows and the time at which it becomes free.
  void offer(slot_id id, matchmaking_policy& to, time_point now) const;

 private:
  records records_;
  std::set<slot_id> out_;
  uint32_t in_service_ = 0;  ///< records that are not in `out_`
};

}  // namespace troupe
