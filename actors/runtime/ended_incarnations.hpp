// Incarnations of other nodes that are over, as an actor group has heard of them.
#pragma once
#include <algorithm>
#include <vector>

#include "actors/runtime/events.hpp"

namespace troupe {

/// Of each node the latest incarnation that has ended. All earlier ones have ended too.
class ended_incarnations {
 public:
  void add(const node_down& d) {
    if (latest_.size() <= d.node.value) latest_.resize(d.node.value + 1);
    latest_[d.node.value] = std::max(latest_[d.node.value], d.incarnation);
  }
  /// This node begins a new incarnation: only then may a peer that it declared dead go on.
  void clear() { latest_.clear(); }
  /// The address names an incarnation, and that one is over.
  bool contains(const address& a) const {
    return a.node.value < latest_.size() && a.incarnation.value != 0 &&
           a.incarnation.value <= latest_[a.node.value].value;
  }

 private:
  std::vector<incarnation_id> latest_;  ///< by node; 0: none
};

}  // namespace troupe
