// Incarnations of other nodes that have ended, by the node_down events of an actor group.
#pragma once
#include <algorithm>
#include <vector>

#include "actors/runtime/events.hpp"

namespace troupe {

/// Keeps the latest ended incarnation of each node. All earlier ones have ended too.
class ended_incarnations {
 public:
  void add(const node_down& d) {
    if (latest_.size() <= d.node.value) latest_.resize(d.node.value + 1);
    latest_[d.node.value] = std::max(latest_[d.node.value], d.incarnation);
  }
  /// For a new incarnation of this node: peers that it declared dead may be alive.
  void clear() { latest_.clear(); }
  /// The address names an ended incarnation.
  bool contains(const address& a) const {
    return a.node.value < latest_.size() && a.incarnation.value != 0 &&
           a.incarnation.value <= latest_[a.node.value].value;
  }

 private:
  std::vector<incarnation_id> latest_;  ///< by node; 0: none
};

}  // namespace troupe
