// The in-flight batches of a model queue: sent to a worker and not yet returned.
#pragma once
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

struct in_flight_batch {
  address worker;
  std::vector<uint32_t> handles;         ///< of its requests, in the queue's request table
  time_point first_deadline = long_ago;  ///< earliest of its requests; `long_ago`: not computed
  bool alone = false;                    ///< a poison retry
};

/// Batches by id. Lookups cost O(1). The functions over handles and workers cost O(requests in flight); they
/// are for commands and lost nodes.
class in_flight_batches {
 public:
  size_t size() const { return batches_.size(); }
  bool contains(batch_id id) const { return batches_.contains(id); }
  void add(batch_id id, in_flight_batch&& b) { batches_[id] = std::move(b); }
  void clear() { batches_.clear(); }

  /// Removes and returns a batch; empty if the id is unknown.
  std::optional<in_flight_batch> take(batch_id id);
  /// Removes and returns the batches on a node's incarnation, by ascending id.
  std::vector<std::pair<batch_id, in_flight_batch>> take_of(node_id node, incarnation_id incarnation);

  /// For each handle below `handles`, whether its request is in flight.
  std::vector<bool> running(size_t handles) const;
  bool runs(uint32_t handle) const;
  /// Whether `p(worker)` holds for any batch.
  template <class P>
  bool any_worker(P&& p) const {
    for (const auto& [id, b] : batches_)
      if (p(b.worker)) return true;
    return false;
  }
  void append_nodes(std::vector<node_id>& out) const {
    for (const auto& [id, b] : batches_) out.push_back(b.worker.node);
  }

 private:
  std::unordered_map<batch_id, in_flight_batch> batches_;
};

}  // namespace troupe
