// The execution slots of a scheduling domain, as an arbiter sees them: the worker and models of each, its
// orders (running and ahead), the grant without an answer, and whether it is in service.
#pragma once
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
  time_point free_at;  ///< planned end; `never`: not known
  uint32_t rows = 0;   ///< of the granted candidate
};

/// One slot, in one incarnation of its worker.
struct slot_record {
  address worker;
  std::vector<model_id> models;     ///< loaded on the slot
  std::vector<slot_order> orders;   ///< running and ahead, oldest first: at most two
  std::optional<batch_done> early;  ///< overtook the `occupied` of its batch
  bool promised = false;            ///< a grant of it is unanswered
  bool accepts = false;             ///< orders of the arbiter's term
  duration busy{};                  ///< total, of finished batches

  bool idle() const { return orders.empty() && !promised; }
  bool has(model_id model) const;
  /// Rows of the last order; 0: there is none.
  uint32_t rows() const { return orders.empty() ? 0 : orders.back().rows; }
  /// When it can take another batch; `never` with two batches, until one of them is done.
  time_point free_at(time_point now) const {
    return orders.size() >= 2 ? never : orders.empty() ? now : orders.back().free_at;
  }
  /// Takes the batch off the slot: adds to `busy` if it ran, in vain too, and moves the end of the batch
  /// behind it by its delay. The slot is free at `free_at(d.finished_at)` then. False: no such order; `early`
  /// keeps the message for the `occupied` that it overtook.
  bool finish(const batch_done& d);
};

/// Whether a batch that ended like this kept its slot busy.
constexpr bool ran(refusal r) { return r == refusal::none || r == refusal::preempted; }

/// A slot out of service keeps its orders and gets no further ones, also in later incarnations of its worker.
/// Lookups are O(1); lists are O(slots). The order of iteration is that of the hash table: deterministic, not
/// sorted.
class slot_table {
 public:
  using records = std::unordered_map<slot_id, slot_record>;

  records::const_iterator begin() const { return records_.begin(); }
  records::const_iterator end() const { return records_.end(); }
  records::iterator begin() { return records_.begin(); }
  records::iterator end() { return records_.end(); }
  size_t size() const { return records_.size(); }
  bool contains(slot_id id) const { return records_.contains(id); }
  /// Null if there is none. Valid until the slot is removed.
  slot_record* find(slot_id id);
  const slot_record* find(slot_id id) const;
  std::vector<slot_id> sorted() const;

  /// Replaces a record of an earlier incarnation.
  slot_record& add(slot_id id, const address& worker, std::vector<model_id> models);
  void remove(slot_id id);
  void clear();
  /// Those of one incarnation of a node.
  std::vector<slot_id> of(node_id node, incarnation_id incarnation) const;
  /// Orders, promises and acceptance of an earlier term are void.
  void begin_term();

  bool is_out(slot_id id) const { return out_.contains(id); }
  const std::set<slot_id>& out_of_service() const { return out_; }
  /// False if it was so already.
  bool set_service(slot_id id, bool in);
  uint32_t in_service() const { return in_service_; }
  std::map<slot_id, std::span<const model_id>> models_in_service() const;

  /// Adds a known slot to a matchmaking policy, as busy as it is.
  void offer(slot_id id, matchmaking_policy& to, time_point now) const;

 private:
  records records_;
  std::set<slot_id> out_;
  uint32_t in_service_ = 0;  ///< records that are not in `out_`
};

}  // namespace troupe
