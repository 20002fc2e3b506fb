#include "policies/succession.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

succession::succession(options o) : options_(std::move(o)) {}

void succession::begin(incarnation_id incarnation, time_point now) {
  incarnation_ = incarnation;
  peers_.clear();
  met_.clear();
  begun_ = now;
  saw_holder_ = watching_ = false;
  vacant_since_ = never;
  before_ = 0;
  heard_ = long_ago;
}

void succession::up(node_id node, incarnation_id incarnation) {
  peers_[node] = {incarnation, false};
  met_.insert(node);
}

void succession::leaving(node_id node, incarnation_id incarnation) {
  const auto p = peers_.find(node);
  if (p != peers_.end() && p->second.incarnation == incarnation) p->second.leaving = true;
}

void succession::down(node_id node, incarnation_id incarnation) {
  const auto p = peers_.find(node);
  if (p != peers_.end() && p->second.incarnation == incarnation) peers_.erase(p);
}

bool succession::learn(const tenure& t, time_point now) {
  if (!t.later_than(known_)) return false;
  const bool first = known_.reign == epoch{};
  takeovers_ += !first;
  hurried_ = !first && now - learned_ < 10 * options_.node_timeout ? std::min(hurried_ + 1, 16) : 0;
  learned_ = now;
  known_ = t;
  vacant_since_ = never;
  saw_holder_ = held();
  watching_ = false;
  heard_ = long_ago;
  pause_ = {};
  return true;
}

bool succession::in_line() const {
  return std::find(options_.line.begin(), options_.line.end(), options_.self) != options_.line.end();
}

bool succession::is_alive(node_id n) const {
  const auto p = peers_.find(n);
  return p != peers_.end() && !p->second.leaving;
}

bool succession::holds() const {
  return known_.reign != epoch{} && known_.scheduler == options_.self && known_.incarnation == incarnation_;
}

bool succession::held() const {
  if (holds()) return true;
  const auto p = peers_.find(known_.scheduler);
  return known_.reign != epoch{} && p != peers_.end() && p->second.incarnation == known_.incarnation &&
         !p->second.leaving;
}

duration succession::allowed_silence() const {
  const auto usual = std::max(4 * pause_, options_.takeover) * (int64_t{1} << hurried_);
  return std::min(usual, std::max(options_.takeover, options_.node_timeout));
}

bool succession::silent(time_point now, time_point heard) {
  if (heard > heard_) {
    if (heard_ != long_ago) pause_ = std::max(heard - heard_, pause_ - pause_ / 256);
    heard_ = heard;
  }
  return now - std::max(heard_, awake_) > allowed_silence();
}

bool succession::must_wait(time_point now) const {
  if (saw_holder_) return false;
  const auto& line = options_.line;
  const auto mine = std::find(line.begin(), line.end(), options_.self) - line.begin();
  const bool knows = known_.reign != epoch{};
  const auto since = knows ? std::max(begun_, learned_) : begun_;
  // a holder of whom others know: the own connection to it may be dead, and has to be noticed and made anew
  const auto turns = (knows ? 2 : 1) + mine;
  if (now >= since + turns * options_.node_timeout) return false;
  const auto later_incarnation = [&] {
    if (known_.scheduler == options_.self) return incarnation_ > known_.incarnation;
    const auto p = peers_.find(known_.scheduler);
    return p != peers_.end() && p->second.incarnation > known_.incarnation;
  };
  return (knows && !later_incarnation()) || std::any_of(line.begin(), line.end(), [&](node_id n) {
           return n != options_.self && !met_.contains(n);
         });
}

std::optional<tenure> succession::decide(time_point now, time_point heard) {
  const bool held_now = held();
  // Who stood still itself has heard nothing meanwhile, nor who did not know the holder.
  if (asked_ == never || now - asked_ > options_.takeover / 2 || !watching_) awake_ = now;
  asked_ = now;
  watching_ = held_now;
  saw_holder_ = saw_holder_ || held_now;
  if (!in_line() || draining_ || holds()) return {};
  const bool held_by_other = held_now;
  if (held_by_other && !silent(now, heard)) {
    vacant_since_ = never;
    return {};
  }
  if (vacant_since_ == never) vacant_since_ = now;
  if (must_wait(now)) return {};
  const auto& line = options_.line;
  const auto before =
      std::count_if(line.begin(), std::find(line.begin(), line.end(), options_.self),
                    [&](node_id n) { return is_alive(n) && !(held_by_other && n == known_.scheduler); });
  if (before > before_) vacant_since_ = now;  // who has only just come has its turn, too
  before_ = before;
  if (now < vacant_since_ + before * options_.takeover) return {};
  return tenure{next_epoch(), options_.self, incarnation_};
}

/// Above all that were heard of, and never another node's. Incarnations are nanoseconds in reality: an epoch
/// that was forgotten because its whole line was restarted is most likely below, too. If not, whoever
/// remembers it says so in his hello, and the next one is above.
epoch succession::next_epoch() const {
  const auto base = std::max(known_.reign.value / options_.nodes, incarnation_.value >> 20) + 1;
  return epoch{base * options_.nodes + options_.self.value};
}

}  // namespace troupe
