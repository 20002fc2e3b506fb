// The node that schedules: fixed in a cluster without standbys, else elected.
#pragma once
#include <optional>

#include "messages/cluster/cluster.hpp"
#include "policies/cluster/leader_election.hpp"

namespace troupe {

/// One per node, around its leader_election.
class active_scheduler {
 public:
  /// `cluster` outlives it.
  active_scheduler(const cluster_spec& cluster, node_id self);

  node_id node() const { return node_; }
  /// The cluster has standbys.
  bool elected() const { return elected_; }
  const leader_election& election() const { return election_; }
  /// The scheduler is this node, or is up and not leaving.
  bool available() const;

  // Membership, as in leader_election.
  void begin(incarnation_id incarnation, time_point now) { election_.begin(incarnation, now); }
  void up(node_id node, incarnation_id incarnation) { election_.up(node, incarnation); }
  void leaving(node_id node, incarnation_id incarnation) { election_.leaving(node, incarnation); }
  void down(node_id node, incarnation_id incarnation) { election_.down(node, incarnation); }
  void heard_of(node_id peer, const leadership& leader, bool reached) {
    election_.heard_of(peer, leader, reached);
  }
  void drain() { election_.drain(); }

  /// Learns of a term. False: it is not news, the node does not exist, or the cluster has no standbys.
  bool learn(const leadership& latest, time_point now);
  /// The leader should be pinged now, because this node might succeed it. True once per beat.
  bool ping_due(time_point now);
  /// As leader_election::decide; nothing in a cluster without standbys. `heard`: when the leader was last
  /// heard; ignored while this node leads.
  std::optional<leadership> decide(time_point now, time_point heard);
  /// Interval between two calls of `decide`, at most `usual`.
  duration check_interval(duration usual) const;

  /// This node knows a leader that is up, and more than half of the nodes are up (`nodes_up`, with this one).
  bool keeps_leader(size_t nodes_up) const {
    return elected_ && available() && 2 * nodes_up > cluster_.nodes.size();
  }
  /// Whether a peer's news of a leader is to be learned. A node that `keeps_leader` refuses a leader that has
  /// ended for it (`ended`), but only from a peer that has ended, too: both were cut off. A peer that is up
  /// (`told_by_peer`) has the news from a leader that it reaches, so the leader is not isolated, and two
  /// leaders without a link between them would otherwise overrule each other for ever.
  bool accepts(const leadership& news, bool ended, bool told_by_peer, size_t nodes_up) const {
    return news.term == term_id{} || !ended || told_by_peer || !keeps_leader(nodes_up);
  }
  /// As leader_election::overrule. Requires: not `accepts`.
  std::optional<leadership> overrule(const leadership& later) const { return election_.overrule(later); }

  /// If this node and `other` have lost each other, it is clear at once who begins the new incarnation: the
  /// one that is not the scheduler. Else the scheduler may still settle it, by what it says to the other.
  bool settles(node_id other, size_t nodes_up) const {
    return other == node_ || (self_ == node_ && (!elected_ || keeps_leader(nodes_up)));
  }
  /// If this node and `other` have lost each other, this node begins the new incarnation: never the
  /// scheduler; a node without the scheduler before one that has it, so that a node that was isolated does
  /// not take others with it; a candidate for leadership before any other node; of two nodes of the same
  /// kind, the later one in the cluster file. `scheduler_up`: the other's hello says that it has the
  /// scheduler.
  bool yields_to(node_id other, bool scheduler_up) const;

 private:
  bool may_schedule(node_id n) const { return cluster_.nodes[n.value].schedules(); }

  const cluster_spec& cluster_;
  const node_id self_;
  const bool elected_;
  leader_election election_;
  node_id node_;
  time_point next_ping_ = long_ago;
};

}  // namespace troupe
