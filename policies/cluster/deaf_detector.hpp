// Detector of a node that no process of its host reaches over the data lane, while the control lane works.
//
// Processes of one host write into a queue in the receiver's shared memory. One that is killed between taking
// a place there and filling it leaves the queue at that place for ever (UCX's shared-memory transports), and
// the receiver hears of no process of its host again. To its peers it is dead. Those that do not make it
// yield (active_scheduler::yields_to) begin one incarnation after another, and it cannot tell this from a
// fault of theirs until a fresh incarnation is silent, too.
#pragma once
#include <algorithm>
#include <vector>

#include "messages/cluster/cluster.hpp"

namespace troupe {

class deaf_detector {
 public:
  deaf_detector(const cluster_spec& cluster, node_id self) : silent_(cluster.nodes.size()) {
    for (const auto& n : cluster.nodes) near_.push_back(n.host == cluster.nodes[self.value].host);
  }

  /// An incarnation of the peer has ended that was reached over the control lane, while nothing of it came
  /// over the data lane.
  void silent(node_id peer) { silent_[peer.value] += near_[peer.value]; }
  /// The peer was heard.
  void heard(node_id peer) {
    if (!near_[peer.value]) return;
    clear();
    limit_ = 2;
  }
  /// This node is to begin a new incarnation: two incarnations of a peer of its host in a row were silent,
  /// and no other peer of its host is `up`. If the new incarnation does not help, the next takes four, then
  /// eight: each costs this node its requests with peers of other hosts.
  bool deaf(const std::vector<node_id>& up) const {
    return std::ranges::max(silent_) >= limit_ &&
           std::ranges::none_of(up, [this](node_id n) { return near_[n.value]; });
  }
  /// This node begins a new incarnation.
  void renewed() {
    if (std::ranges::max(silent_) >= limit_) limit_ *= 2;
    clear();
  }

 private:
  void clear() { std::ranges::fill(silent_, 0); }

  std::vector<bool> near_;        ///< by node: on this host
  std::vector<uint32_t> silent_;  ///< by node: incarnations in a row
  uint32_t limit_ = 2;
};

}  // namespace troupe
