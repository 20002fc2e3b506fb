// Who is dead.
#pragma once
#include <vector>

#include "messages/ids.hpp"
#include "messages/time.hpp"

namespace troupe {

/// A life of a peer ends when nothing is heard of it for `timeout`, when its loss is reported, or when a
/// later life of the same peer is heard of. Each end is said once, and a life that ended never comes back:
/// only a later one does. A peer of which nothing was ever heard is not dead but unknown.
class failure_detector {
 public:
  struct death {
    node_id peer;
    incarnation life;
    bool operator==(const death&) const = default;
  };

  explicit failure_detector(duration timeout) : timeout_(timeout) {}

  /// A sign of life. False: that life is over, ignore what it says.
  bool heard(node_id peer, incarnation life, time_point at);
  /// The peer's loss was reported (a connection broke, another node said so).
  void lost(node_id peer, incarnation life);
  /// Ends the lives that have been silent for too long.
  void advance(time_point now);

  /// Moves out the deaths since the last call, in the order in which they were found.
  void take_deaths(std::vector<death>& out);
  /// The latest life of `peer` that was heard of, dead or alive; 0 if none.
  incarnation latest(node_id peer) const {
    return peer.value < peers_.size() ? peers_[peer.value].life : incarnation{};
  }

 private:
  struct peer_state {
    incarnation life;  ///< the latest known; 0: none
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
