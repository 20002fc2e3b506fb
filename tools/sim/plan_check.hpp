// The invariant of orders to copy weights, as far as the parameter pool that gives them can know:
// - the images of a model leave a node's link for one other node at most;
// - no chain begins at a node whose link sends another model while a node with a free link has all images.
// Of language models under `blitz_network` neither is required, and under `serverless` nothing is sent.
//
// It keeps what each pool was told and has ordered, by the messages that the pool's group got and sent.
#pragma once
#include <map>
#include <span>
#include <utility>

#include "actors/runtime/events.hpp"
#include "actors/runtime/peers_up.hpp"
#include "messages/cluster/cluster.hpp"
#include "policies/scaling/link_rates.hpp"
#include "tools/sim/group_filter.hpp"
#include "tools/sim/violations.hpp"

namespace troupe::sim {

class plan_check {
 public:
  plan_check(violations& v, const cluster_spec& cluster)
      : violations_(v), policy_(cluster.scaling.policy), rates_(cluster) {}

  /// To the pool of this node.
  void delivered(node_id at, const envelope& e);
  /// A group of actors of this node sends these together, as a pool sends the orders of one decision.
  void sent(node_id by, std::span<const envelope> together);
  /// The process on the node has ended.
  void ended(node_id at) { pools_.erase(at); }

 private:
  using image = std::pair<weights_id, node_id>;  ///< of a model, on a node
  using transfers = std::map<image, node_id>;    ///< from which nodes images arrive
  struct order {
    bool drop = false;
    node_id from = {};   ///< unless it is a drop
    bool shown = false;  ///< an inventory has shown its effect; its transfer may not have ended
  };
  struct pool {
    peers_up up;
    group_filter filter;
    term_id term;
    std::map<node_id, shard_inventory> shards;  ///< of its term
    std::map<image, order> orders;              ///< the latest ones, until transfers have ended
  };

  void learn(pool& p, shard_inventory inventory);
  void forget(pool& p, node_id node);
  /// `all`: also those that were ordered and shown, and may have lost their sources since.
  static transfers arriving(const pool& p, bool all);
  static bool has(const pool& p, weights_id model, node_id node);
  void check_successors(const transfers& after, const image& placed, node_id from);

  violations& violations_;
  const scaling_policy policy_;
  const link_rates rates_;
  std::map<node_id, pool> pools_;
};

}  // namespace troupe::sim
