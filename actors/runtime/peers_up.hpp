// peers_up keeps the incarnations of nodes that are up, from the node_up and node_down events of an actor.
#pragma once
#include <unordered_map>

#include "actors/runtime/events.hpp"

namespace troupe {

class peers_up {
 public:
  void add(const node_up& n) { up_[n.node] = n.incarnation; }
  /// The end of an earlier incarnation changes nothing.
  void remove(const node_down& n) {
    if (const auto found = up_.find(n.node); found != up_.end() && found->second == n.incarnation)
      up_.erase(found);
  }
  void clear() { up_.clear(); }

  /// Any incarnation of the node.
  bool contains(node_id node) const { return up_.contains(node); }
  /// The node of this address, in the incarnation of the address.
  bool contains(const address& peer) const {
    const auto found = up_.find(peer.node);
    return found != up_.end() && found->second == peer.incarnation;
  }

 private:
  std::unordered_map<node_id, incarnation_id> up_;
};

}  // namespace troupe
