// Failure detector over the peers of a node.
#pragma once
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// An incarnation of a peer ends when it is silent for `timeout`, when its loss is reported, or when a later
/// incarnation of the peer appears. Each end is reported once, and an ended incarnation never comes back. A
/// peer that has sent nothing yet is unknown, not dead.
class failure_detector {
 public:
  struct death {
    node_id peer;
    incarnation_id incarnation;
    bool operator==(const death&) const = default;
  };

  explicit failure_detector(duration timeout) : timeout_(timeout) {}

  /// A heartbeat, or any other message. False: that incarnation has ended; ignore the message.
  bool on_heartbeat(node_id peer, incarnation_id incarnation, time_point at);
  /// The peer's loss was reported by a broken connection or another node.
  void lost(node_id peer, incarnation_id incarnation);
  /// The latest incarnation of the peer was heard of and is not known any more: it is not dead, and its next
  /// heartbeat counts. Requires: it has not ended.
  void forget(node_id peer);
  /// Ends the incarnations that have been silent for too long.
  void advance(time_point now);

  /// Moves out the deaths since the last call, in the order in which they were found.
  void take_dead_nodes(std::vector<death>& out);
  /// That incarnation of the peer has ended.
  bool has_ended(node_id peer, incarnation_id incarnation) const {
    if (peer.value >= peers_.size()) return false;
    const auto& p = peers_[peer.value];
    return incarnation < p.incarnation || (incarnation == p.incarnation && !p.alive);
  }
  /// The latest known incarnation of `peer`, dead or alive; 0 if none.
  incarnation_id latest(node_id peer) const {
    return peer.value < peers_.size() ? peers_[peer.value].incarnation : incarnation_id{};
  }

 private:
  struct peer_state {
    incarnation_id incarnation;  ///< the latest known; 0: none
    bool alive = false;
    time_point heard_at = long_ago;
  };

  peer_state& state_of(node_id peer);
  void end(node_id peer, peer_state& p);

  duration timeout_;
  std::vector<peer_state> peers_;
  std::vector<death> deaths_;
};

}  // namespace troupe
