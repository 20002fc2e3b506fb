// Who is dead.
#pragma once
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// An incarnation of a peer ends when nothing is heard of it for `timeout`, when its loss is reported, or
/// when a later incarnation of the same peer is heard of. Each end is said once, and an incarnation that
/// ended never comes back: only a later one does. A peer of which nothing was ever heard is not dead but
/// unknown.
class failure_detector {
 public:
  struct death {
    node_id peer;
    incarnation_id incarnation;
    bool operator==(const death&) const = default;
  };

  explicit failure_detector(duration timeout) : timeout_(timeout) {}

  /// A sign of life. False: that incarnation is over, ignore what it says.
  bool on_heartbeat(node_id peer, incarnation_id incarnation, time_point at);
  /// The peer's loss was reported (a connection broke, another node said so).
  void lost(node_id peer, incarnation_id incarnation);
  /// Ends the incarnations that have been silent for too long.
  void advance(time_point now);

  /// Moves out the deaths since the last call, in the order in which they were found.
  void take_dead_nodes(std::vector<death>& out);
  /// The latest incarnation of `peer` that was heard of, dead or alive; 0 if none.
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
