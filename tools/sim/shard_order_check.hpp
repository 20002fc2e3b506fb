// The invariant of the orders that parameter shards carry out: none of a term before the latest one that the
// shard has heard of, from an order or from a leader. Its inventories list the models that orders of the
// latest terms have placed and not dropped, and its links are told to follow nodes that these name.
#pragma once
#include <map>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "actors/runtime/events.hpp"
#include "tools/sim/group_filter.hpp"
#include "tools/sim/violations.hpp"

namespace troupe::sim {

class shard_order_check {
 public:
  explicit shard_order_check(violations& v) : violations_(v) {}

  /// To the shard of this node.
  void delivered(node_id at, const envelope& e);
  void sent(node_id by, std::span<const envelope> together);
  /// The process on the node has ended.
  void ended(node_id at) { shards_.erase(at); }

  /// The node from which the images of a model come to a node by its latest order, the node itself if it
  /// reads the checkpoint; nothing: there is no order to place them.
  std::optional<node_id> source(weights_id model, node_id at) const;
  /// Orders of former leaders that reached a shard.
  uint64_t old_orders() const { return old_orders_; }

 private:
  struct shard {
    group_filter filter;
    term_id term;
    std::map<weights_id, node_id> placed;  ///< with their sources
    /// Sources of all orders since it last sent something: it may carry out several in one turn.
    std::set<std::pair<weights_id, node_id>> named;
  };
  /// Whether an order of this term is to be carried out.
  bool accepts(shard& s, term_id term);

  violations& violations_;
  std::map<node_id, shard> shards_;
  uint64_t old_orders_ = 0;
};

}  // namespace troupe::sim
