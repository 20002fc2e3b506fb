// Recovery of the deployment log by the deployer that decides.
#pragma once
#include <cstddef>
#include <set>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// A deployer that has just begun, or has just become the leader's, may lack lines of the log. It decides
/// nothing until every other node has sent its log, or until a bound: a node that sends nothing until then is
/// dead.
class log_recovery {
 public:
  /// `nodes`: number of nodes in the cluster, this one included.
  explicit log_recovery(size_t nodes) : nodes_(nodes) {}

  /// No log counts as received any more; waits until `until` at the latest.
  void begin(time_point until) {
    received_.clear();
    until_ = until;
  }
  /// The log of that node was received, or will not come.
  void received(node_id from) { received_.insert(from); }
  bool complete(time_point now) const { return now >= until_ || received_.size() + 1 >= nodes_; }
  time_point until() const { return until_; }

 private:
  const size_t nodes_;
  std::set<node_id> received_;  ///< other nodes
  time_point until_ = never;
};

}  // namespace troupe
