// order_authority decides which orders a worker accepts: orders carry a term, and a higher term ends all
// lower ones.
#pragma once
#include <algorithm>

#include "messages/cluster/membership.hpp"
#include "messages/tensor/scheduling.hpp"

namespace troupe {

class order_authority {
 public:
  /// False: the order is of an earlier term, or of an earlier incarnation of the leader.
  bool accepts(const batch_order& o) const {
    return o.term >= highest_ && (o.term != leader_.term || is_from_leader(o));
  }
  /// An order of this term was accepted.
  void note(term_id term) { highest_ = std::max(highest_, term); }

  /// False: this leadership or a later one is known.
  bool change(const leadership& latest) {
    if (!latest.later_than(leader_)) return false;
    leader_ = latest;
    note(latest.term);
    return true;
  }
  /// Before the first change (term 0) every scheduler is the leader.
  bool is_from_leader(const batch_order& o) const {
    return leader_.term == term_id{} ||
           (o.term == leader_.term && o.queue.incarnation == leader_.incarnation);
  }
  const leadership& leader() const { return leader_; }

 private:
  term_id highest_{};
  leadership leader_;  // the latest; term 0: none
};

}  // namespace troupe
