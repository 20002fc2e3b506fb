// Peers of a node, and the incarnation of each that the node knows.
#pragma once
#include <functional>
#include <utility>
#include <vector>

#include "messages/cluster/membership.hpp"
#include "policies/cluster/failure_detector.hpp"

namespace troupe {

enum class peer_stage {
  unknown,
  connecting,  ///< its hello was accepted; the clocks are not known yet
  up
};

/// A peer is known from its hello on, up once both nodes know the other's clock, and unknown again once its
/// incarnation has ended. The only failure detector of a node is here. Slots that a peer reports while it
/// connects are kept until it is up.
class peer_table {
 public:
  struct peer {
    peer_stage stage = peer_stage::unknown;
    incarnation_id incarnation;
    time_point connected_at = never;
    bool leaving = false;  ///< it has sent a leave_notice
    bool broken = false;   ///< a connection to it broke
    bool silent = false;   ///< it has been connecting for long, and the data lane hears nothing of it
    std::vector<slot_ready> early;  ///< slots that it reported before it was up
  };
  struct ended_peer {
    node_id node;
    incarnation_id incarnation;
    bool leaving = false;
    bool broken = false;
    bool silent = false;  ///< it was connecting until then, and was not heard in the last node timeout
  };

  /// A peer's incarnation ends after a silence of `node_timeout`.
  peer_table(size_t nodes, duration node_timeout);
  /// This node begins a new incarnation: all peers are unknown.
  void clear();

  /// Requires: `node` is a node of the cluster.
  const peer& at(node_id node) const { return peers_[node.value]; }
  /// That incarnation of the peer is connecting or up.
  bool knows(node_id node, incarnation_id incarnation) const;
  bool is_up(node_id node) const { return at(node).stage == peer_stage::up; }
  /// The peers that are up, by id.
  std::vector<node_id> up() const;
  size_t nodes_up() const { return up().size() + 1; }  ///< with this node
  /// All other nodes of the cluster are up.
  bool all_up() const { return up().size() + 1 == peers_.size(); }
  /// The latest incarnation that this node has heard of, ended or not; 0: none.
  incarnation_id latest(node_id node) const { return detector_.latest(node); }

  bool has_ended(node_id node, incarnation_id incarnation) const {
    return detector_.has_ended(node, incarnation);
  }
  /// An ended incarnation says hello. True if it also did so `settling_time` ago or earlier, so that it has
  /// not heard of its end from the scheduler meanwhile.
  bool insists(node_id node, incarnation_id incarnation, time_point now);

  /// Hears of an incarnation. Ends an earlier one of the same peer. False: that incarnation has ended.
  bool hear(node_id node, incarnation_id incarnation, time_point now);
  /// Begins to connect to that incarnation. Requires: `hear` returned true, and its `take_ended` was called.
  void connect(node_id node, incarnation_id incarnation, time_point now);
  /// Both clocks are known. False: the peer was not connecting with that incarnation.
  bool synchronise(node_id node, incarnation_id incarnation);
  /// A leave_notice. False: it is not the first one.
  bool leave(node_id node) { return !std::exchange(peers_[node.value].leaving, true); }
  /// A connection to that incarnation broke. Requires: `knows`.
  void lose(node_id node, incarnation_id incarnation);
  /// A peer that connects is unknown again, and its incarnation has not ended. Requires: it is not up.
  void forget(node_id node);
  /// Ends the incarnations that were silent for too long. `last_heard`: when the data lane received anything
  /// from a peer. A peer that connects has five node timeouts for it: its start may be slow. From four on
  /// it is `silent` if it was not heard in the last one: the peer may give up before this node does.
  void check(time_point now, const std::function<time_point(node_id)>& last_heard);
  /// Moves out the incarnations that have ended since the last call; their peers are unknown.
  std::vector<ended_peer> take_ended();

  /// A slot of a peer. False: the peer is not up. The slot is kept until then, if the peer's incarnation is
  /// the known one.
  bool take_slot(const slot_ready& s);
  /// Moves out the slots that the peer reported before it was up.
  std::vector<slot_ready> take_early_slots(node_id node) {
    return std::exchange(peers_[node.value].early, {});
  }

 private:
  /// An ended incarnation that says hello.
  struct returning {
    incarnation_id incarnation;
    time_point since = never;
  };
  static constexpr duration settling_time = 500ms;

  const duration node_timeout_;
  std::vector<peer> peers_;           ///< by node; this node's own entry stays unknown
  std::vector<returning> returning_;  ///< by node
  failure_detector detector_;
};

}  // namespace troupe
