// Drain protocol of a node: its own leaving, and that of its peers.
#pragma once
#include <cstddef>
#include <utility>
#include <vector>

#include "messages/common/ids.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// A node that drains sends a leave_notice to its peers. It may leave once its own actors have no work and
/// every peer that is up has sent a leave_ack: none of the peer's actors has work at the node or on the way
/// to it. Both sides learn this from rounds: each group of actors reports once per round. A leave_ack follows
/// only from a round that began after the leave_notice, when the actors begin nothing new with the leaving
/// node.
class node_drain {
 public:
  explicit node_drain(size_t nodes) : peers_(nodes) {}

  /// This node drains, until `until` at the latest. False: it drains already.
  bool begin(time_point until);
  bool draining() const { return draining_; }
  bool overdue(time_point now) const { return draining_ && now >= until_; }

  /// A peer has sent a leave_notice.
  void on_notice(node_id peer) { peers_[peer.value].ack_due = true; }
  /// A peer has sent a leave_ack.
  void on_ack(node_id peer) { peers_[peer.value].acked = true; }
  /// The peer's incarnation has ended.
  void forget(node_id peer) { peers_[peer.value] = {}; }
  /// This node begins a new incarnation. Its drain goes on.
  void forget_all() { peers_.assign(peers_.size(), {}); }

  /// This node leaves, or a peer that waits for its leave_ack.
  bool under_way() const;
  /// A round must begin: one is needed, and none is under way.
  bool needs_round() const { return under_way() && reports_missing_ == 0; }
  void begin_round(size_t reports);
  /// One report of the round. `unfinished`: work of the reporting actors; `busy_with`: the nodes with which
  /// they have work. True: it was the last one. False if no round is under way.
  bool on_report(size_t unfinished, const std::vector<node_id>& busy_with);

  /// After a round: the peers among `up` to which a leave_ack is to be sent now, by position.
  std::vector<node_id> take_acks(const std::vector<node_id>& up);
  /// After a round: this node drains and has no work, and all of `up` have sent a leave_ack.
  bool may_leave(const std::vector<node_id>& up) const;

 private:
  struct peer_state {
    bool ack_due = false;   ///< its leave_notice is not answered yet
    bool in_round = false;  ///< its leave_notice came before the current round
    bool acked = false;     ///< it has answered this node's leave_notice
  };

  bool draining_ = false;
  time_point until_ = never;
  std::vector<peer_state> peers_;  ///< by node
  size_t reports_missing_ = 0;
  size_t unfinished_ = 0;           ///< work in the current round
  std::vector<node_id> busy_with_;  ///< nodes with work in the current round
};

}  // namespace troupe
