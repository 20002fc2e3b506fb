// The messages that an actor group passes on to its actors, of those that its CAF host got
// (actors/runtime/actor_group.hpp): none of ended incarnations, and none to a former one of its node.
#pragma once
#include "actors/runtime/ended_incarnations.hpp"
#include "actors/runtime/events.hpp"

namespace troupe::sim {

class group_filter {
 public:
  /// Called with each message in its order.
  bool passes(const envelope& e) {
    if (dead_.contains(e.from)) return false;
    if (const auto* n = std::get_if<new_incarnation>(&e.body)) {
      dead_.clear();
      self_ = n->incarnation;
    }
    if (const auto* d = std::get_if<node_down>(&e.body)) dead_.add(*d);
    const auto to = e.to.incarnation;
    return to == incarnation_id{} || self_ == incarnation_id{} || to == self_;
  }

 private:
  ended_incarnations dead_;
  incarnation_id self_;  ///< of the node; 0: the process's first one
};

}  // namespace troupe::sim
