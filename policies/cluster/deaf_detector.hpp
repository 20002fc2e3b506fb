// Detector of a node whose data lane receives nothing any more, while its control lane does.
//
// Processes of one host write into a queue in the receiver's shared memory. One that is killed between taking
// a place there and filling it leaves the queue at that place for ever (UCX's shared-memory transports), and
// the receiver hears of no process of its host again. To its peers it is dead, and they begin one incarnation
// after another. It cannot tell this from a fault of theirs until a fresh incarnation is silent, too.
#pragma once
#include <vector>

#include "messages/common/ids.hpp"

namespace troupe {

class deaf_detector {
 public:
  explicit deaf_detector(size_t nodes) : peers_(nodes) {}

  /// An incarnation of the peer has ended that was reached over the control lane, while nothing of it came
  /// over the data lane.
  void silent(node_id peer) {
    auto& p = peers_[peer.value];
    if (++p.silent < p.limit) return;
    p.limit *= 2;
    deaf_ = true;
  }
  /// The peer was heard.
  void heard(node_id peer) { peers_[peer.value] = {}; }
  /// This node is to begin a new incarnation: two incarnations of a peer in a row were silent. If the new one
  /// does not help, the next takes four, then eight: each costs this node its requests with other peers.
  bool deaf() const { return deaf_; }
  /// This node begins a new incarnation.
  void renewed() {
    for (auto& p : peers_) p.silent = 0;
    deaf_ = false;
  }

 private:
  struct peer_state {
    uint32_t silent = 0;  ///< incarnations in a row
    uint32_t limit = 2;
  };
  std::vector<peer_state> peers_;  ///< by node
  bool deaf_ = false;
};

}  // namespace troupe
