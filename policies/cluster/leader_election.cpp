#include "policies/cluster/leader_election.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

leader_election::leader_election(options o) : options_(std::move(o)) {}

void leader_election::begin(incarnation_id incarnation, time_point now) {
  incarnation_ = incarnation;
  peers_.clear();
  met_.clear();
  begun_ = now;
  saw_leader_ = watching_ = false;
  leaderless_since_ = never;
  before_ = 0;
  heard_ = long_ago;
}

void leader_election::up(node_id node, incarnation_id incarnation) {
  peers_[node] = {incarnation, false, {}};
  met_.insert(node);
}

void leader_election::leaving(node_id node, incarnation_id incarnation) {
  const auto p = peers_.find(node);
  if (p != peers_.end() && p->second.incarnation == incarnation) p->second.leaving = true;
}

void leader_election::down(node_id node, incarnation_id incarnation) {
  const auto p = peers_.find(node);
  if (p != peers_.end() && p->second.incarnation == incarnation) peers_.erase(p);
}

void leader_election::heard_of(node_id from, const leadership& leader, bool reached) {
  const auto p = peers_.find(from);
  if (p != peers_.end()) p->second.reaches = reached ? leader.term : term_id{};
}

bool leader_election::learn(const leadership& latest, time_point now) {
  if (!latest.later_than(known_)) return false;
  const bool first = known_.term == term_id{};
  takeovers_ += !first;
  hurried_ = !first && now - learned_ < 10 * options_.node_timeout ? std::min(hurried_ + 1, 16) : 0;
  learned_ = now;
  known_ = latest;
  leaderless_since_ = never;
  saw_leader_ = has_leader();
  watching_ = false;
  heard_ = long_ago;
  pause_ = {};
  return true;
}

bool leader_election::is_candidate() const {
  return std::find(options_.candidates.begin(), options_.candidates.end(), options_.self) !=
         options_.candidates.end();
}

bool leader_election::is_alive(node_id n) const {
  const auto p = peers_.find(n);
  return p != peers_.end() && !p->second.leaving;
}

bool leader_election::is_leader() const {
  return known_.term != term_id{} && known_.scheduler == options_.self && known_.incarnation == incarnation_;
}

bool leader_election::has_leader() const {
  if (is_leader()) return true;
  const auto p = peers_.find(known_.scheduler);
  return known_.term != term_id{} && p != peers_.end() && p->second.incarnation == known_.incarnation &&
         !p->second.leaving;
}

duration leader_election::allowed_silence() const {
  const auto usual = std::max(4 * pause_, options_.takeover) * (int64_t{1} << hurried_);
  return std::min(usual, std::max(options_.takeover, options_.node_timeout));
}

bool leader_election::silent(time_point now, time_point heard) {
  if (heard > heard_) {
    if (heard_ != long_ago) pause_ = std::max(heard - heard_, pause_ - pause_ / 256);
    heard_ = heard;
  }
  return now - std::max(heard_, awake_) > allowed_silence();
}

bool leader_election::must_wait(time_point now) const {
  if (saw_leader_) return false;
  const auto& candidates = options_.candidates;
  const auto mine = std::find(candidates.begin(), candidates.end(), options_.self) - candidates.begin();
  const bool knows = known_.term != term_id{};
  const auto later_incarnation = [&] {
    if (known_.scheduler == options_.self) return incarnation_ > known_.incarnation;
    const auto p = peers_.find(known_.scheduler);
    return p != peers_.end() && p->second.incarnation > known_.incarnation;
  };
  const bool awaits_leader = knows && !later_incarnation();
  if (awaits_leader && std::any_of(peers_.begin(), peers_.end(), [&](const auto& p) {
        return p.second.reaches == known_.term && !p.second.leaving;
      }))
    return true;
  const auto since = knows ? std::max(begun_, learned_) : begun_;
  // others know a leader: this node's connection to it may be dead, and needs time to be noticed and rebuilt
  const auto turns = (knows ? 2 : 1) + mine;
  if (now >= since + turns * options_.node_timeout) return false;
  return awaits_leader || std::any_of(candidates.begin(), candidates.end(),
                                      [&](node_id n) { return n != options_.self && !met_.contains(n); });
}

std::optional<leadership> leader_election::decide(time_point now, time_point heard) {
  const bool has_leader_now = has_leader();
  // A node that was suspended, or did not know the leader, has received nothing meanwhile.
  if (asked_ == never || now - asked_ > options_.takeover / 2 || !watching_) awake_ = now;
  asked_ = now;
  watching_ = has_leader_now;
  saw_leader_ = saw_leader_ || has_leader_now;
  if (!is_candidate() || draining_ || is_leader()) return {};
  const bool another_leads = has_leader_now;
  if (another_leads && !silent(now, heard)) {
    leaderless_since_ = never;
    return {};
  }
  if (leaderless_since_ == never) leaderless_since_ = now;
  if (must_wait(now)) return {};
  const auto& candidates = options_.candidates;
  const auto before =
      std::count_if(candidates.begin(), std::find(candidates.begin(), candidates.end(), options_.self),
                    [&](node_id n) { return is_alive(n) && !(another_leads && n == known_.scheduler); });
  if (before > before_) leaderless_since_ = now;  // a candidate that has just come up gets its turn
  before_ = before;
  if (now < leaderless_since_ + before * options_.takeover) return {};
  return leadership{term_after(known_.term), options_.self, incarnation_};
}

std::optional<leadership> leader_election::overrule(const leadership& later) const {
  if (!is_leader() || !later.later_than(known_)) return {};
  return leadership{term_after(later.term), options_.self, incarnation_};
}

/// Above all known terms, and never equal to another node's. In real clusters incarnations are times in
/// nanoseconds: terms that were forgotten because all candidates restarted are most likely lower, too.
/// Otherwise a node that remembers one sends it in its hello, and the next term is higher.
term_id leader_election::term_after(term_id t) const {
  const auto base = std::max(t.value / options_.nodes, incarnation_.value >> 20) + 1;
  return term_id{base * options_.nodes + options_.self.value};
}

}  // namespace troupe
