// Leader election between the scheduler and its standbys (Symphony §6: hot spares).
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "messages/cluster/membership.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// One per node. Leadership is vacant when the leader's incarnation ends or leaves, and is presumed vacant
/// after a silence longer than `allowed_silence`. Then the first candidate that is alive becomes the leader
/// at once. Each other candidate waits `takeover` for every candidate that is before it and up.
///
/// This holds for nodes that have seen the leader in this term. A node that has just begun an incarnation
/// knows no leader, and a node that hears of a leader but cannot reach it may be the only one cut off. The
/// former waits `node_timeout`, the latter twice that (a dead connection is noticed and rebuilt meanwhile),
/// and both one `node_timeout` more per place among the candidates. The former's wait ends early when it has
/// met all other candidates; the latter's when it meets the leader or a later incarnation of it, and does not
/// end while a peer reaches the leader. So two nodes that cannot reach each other do not take leadership from
/// each other in turn.
///
/// A candidate that was cut off from all others may have elected itself. When it returns, the former leader
/// begins a later term and stays the leader, if it has a majority of the nodes.
///
/// A wrong decision is safe: terms of two nodes are never equal, workers obey the highest, and a leader that
/// hears of a later term has lost leadership.
class leader_election {
 public:
  struct options {
    node_id self;
    std::vector<node_id> candidates;  ///< for leadership, in order of preference
    size_t nodes = 1;                 ///< number of nodes in the cluster
    duration takeover = 300ms;        ///< minimum silence before a takeover
    duration node_timeout = 3s;
  };

  explicit leader_election(options o);

  /// This node begins an incarnation. Its knowledge of the leader stays.
  void begin(incarnation_id incarnation, time_point now);
  void up(node_id node, incarnation_id incarnation);
  void leaving(node_id node, incarnation_id incarnation);
  void down(node_id node, incarnation_id incarnation);
  /// A peer says of which leader it knows, and whether it reaches it. Ignored unless the peer is up.
  void heard_of(node_id from, const leadership& leader, bool reached);
  /// This node leaves: it no longer becomes the leader.
  void drain() { draining_ = true; }

  /// Learns of a term. False: it is not later than the known one.
  bool learn(const leadership& latest, time_point now);
  const leadership& known() const { return known_; }
  /// Number of times that a later term followed an earlier one.
  uint32_t takeovers() const { return takeovers_; }

  /// This incarnation of this node is the leader.
  bool is_leader() const;
  /// The leading incarnation is up and not leaving.
  bool has_leader() const;
  /// The peer is up and not leaving.
  bool is_alive(node_id n) const;
  /// This node is a candidate, and another node is the leader.
  bool watches() const { return is_candidate() && has_leader() && !is_leader(); }

  /// To be called at every `beat` and after every change. `heard`: when this node last heard of the leader.
  /// Returns the leadership that this node begins now, which it must also `learn`.
  std::optional<leadership> decide(time_point now, time_point heard);
  /// The term with which this node stays the leader despite a later one; nothing if this node does not lead,
  /// or the other term is not later. It must also `learn` it.
  std::optional<leadership> overrule(const leadership& later) const;

  /// Interval at which the leader should be pinged.
  duration beat() const { return options_.takeover / 10; }
  /// `takeover`, or four times the longest recent pause between two messages of the leader if that is more;
  /// at most `node_timeout`. So a busy machine is not taken for a dead one. Doubles for each term that began
  /// soon after the previous one.
  duration allowed_silence() const;

 private:
  struct peer {
    incarnation_id incarnation;
    bool leaving = false;
    term_id reaches = {};  ///< the term of the leader that it reaches; 0: none
  };

  bool is_candidate() const;
  bool silent(time_point now, time_point heard);
  bool must_wait(time_point now) const;
  term_id term_after(term_id t) const;

  const options options_;
  leadership known_;
  uint32_t takeovers_ = 0;
  incarnation_id incarnation_;
  bool draining_ = false;
  std::map<node_id, peer> peers_;  ///< nodes that are up
  std::set<node_id> met_;          ///< in this incarnation
  time_point begun_ = never;
  time_point learned_ = never;           ///< of this term
  int hurried_ = 0;                      ///< number of terms in quick succession, up to this one
  bool saw_leader_ = false;              ///< in this incarnation, and in this term
  time_point leaderless_since_ = never;  ///< or since a candidate before this node came up
  int64_t before_ = 0;                   ///< number of these at the last `decide`

  bool watching_ = false;        ///< the leader was up at the last `decide`
  time_point asked_ = never;     ///< time of the last `decide`
  time_point awake_ = long_ago;  ///< since then `decide` has been called in time
  time_point heard_ = long_ago;  ///< when the leader was last heard of
  duration pause_{};             ///< longest pause between two messages of the leader; old ones decay
};

}  // namespace troupe
