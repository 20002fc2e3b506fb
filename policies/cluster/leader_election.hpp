// Who is the leader, and when a standby takes it (Symphony §6: hot spares).
#pragma once
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "messages/cluster/membership.hpp"
#include "messages/common/time.hpp"

namespace troupe {

/// One a node. The office is vacant when the incarnation that holds it is over or leaves, and is taken to be
/// vacant when nothing was heard of it for longer than `allowed_silence`. Then the first of the line that
/// lives takes it, at once; the others each wait `takeover` for every one that is before them and up.
///
/// That is for who has seen the leader in this term. Who has just begun an incarnation knows nothing, and
/// who hears of a leader that it cannot reach may be the only one: the first waits `node_timeout`, the second
/// twice that (a connection that is dead without a word is noticed and made anew meanwhile), and both once
/// more for each place among the candidates. The first case ends earlier when it has met all other
/// candidates, the second when it meets the leader, or a later incarnation of it. So two that cannot reach
/// each other do not take the office from each other again and again.
///
/// To be wrong is safe: the terms of two nodes are never equal, workers obey the highest, and who hears of a
/// later term than its own has lost the leadership.
class leader_election {
 public:
  struct options {
    node_id self;
    std::vector<node_id> candidates;  ///< for leadership, the first first
    size_t nodes = 1;                 ///< of the cluster
    duration takeover = 300ms;        ///< the least silence that counts as an end
    duration node_timeout = 3s;
  };

  explicit leader_election(options o);

  /// This node begins an incarnation. What is known of the leader stays.
  void begin(incarnation_id incarnation, time_point now);
  void up(node_id node, incarnation_id incarnation);
  void leaving(node_id node, incarnation_id incarnation);
  void down(node_id node, incarnation_id incarnation);
  /// This node leaves: it does not become the leader any more.
  void drain() { draining_ = true; }

  /// Hears of a term. False: it is not later than what is known.
  bool learn(const leadership& latest, time_point now);
  const leadership& known() const { return known_; }
  /// How often a later term followed an earlier one.
  uint32_t takeovers() const { return takeovers_; }

  /// This incarnation of this node is the leader.
  bool is_leader() const;
  /// The incarnation that leads is up and does not leave.
  bool has_leader() const;
  /// This node is a candidate, and another one is the leader.
  bool watches() const { return is_candidate() && has_leader() && !is_leader(); }

  /// To be asked at every `beat` and after every change. `heard`: when this node last heard of the leader.
  /// Returns the leadership that this node begins now, which it must also `learn`.
  std::optional<leadership> decide(time_point now, time_point heard);

  /// How often the leader should be asked for a sign of life.
  duration beat() const { return options_.takeover / 10; }
  /// `takeover`, or four times the longest recent pause between two signs of life if that is more; at most
  /// `node_timeout`. So a machine that is busy for long is not taken for a dead one. Twice as long for each
  /// term that began soon after the one before.
  duration allowed_silence() const;

 private:
  struct peer {
    incarnation_id incarnation;
    bool leaving = false;
  };

  bool is_candidate() const;
  bool is_alive(node_id n) const;
  bool silent(time_point now, time_point heard);
  bool must_wait(time_point now) const;
  term_id next_term() const;

  const options options_;
  leadership known_;
  uint32_t takeovers_ = 0;
  incarnation_id incarnation_;
  bool draining_ = false;
  std::map<node_id, peer> peers_;  ///< that are up
  std::set<node_id> met_;          ///< in this incarnation
  time_point begun_ = never;
  time_point learned_ = never;           ///< of this term
  int hurried_ = 0;                      ///< terms, one soon after the other, until this one
  bool saw_leader_ = false;              ///< in this incarnation, and in this term
  time_point leaderless_since_ = never;  ///< or since another one came that is before this node
  int64_t before_ = 0;                   ///< so many of these there were when `decide` was called last

  bool watching_ = false;        ///< the leader was up when `decide` was called last
  time_point asked_ = never;     ///< when that was
  time_point awake_ = long_ago;  ///< since then it has been called in time
  time_point heard_ = long_ago;  ///< of the leader
  duration pause_{};             ///< the longest between two signs of life; what is long ago counts less
};

}  // namespace troupe
