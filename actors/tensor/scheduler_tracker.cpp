#include "actors/tensor/scheduler_tracker.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

scheduler_tracker::scheduler_tracker(node_id scheduler, std::vector<node_id> candidates)
    : candidates_(std::move(candidates)), scheduler_(scheduler) {}

bool scheduler_tracker::outdated(const address& from) const {
  if (candidates_.empty() || from.kind != role::model_queue) return false;
  return from.node != scheduler_ ||
         (from.incarnation != incarnation_id{} && from.incarnation != leadership_.incarnation);
}

scheduler_tracker::effect scheduler_tracker::on_node_up(node_id node, incarnation_id incarnation) {
  if (candidates_.empty()) {
    if (node != scheduler_) return effect::none;
    expected_until_ = long_ago;
    return std::exchange(up_, true) ? effect::none : effect::resubmit;
  }
  if (std::find(candidates_.begin(), candidates_.end(), node) == candidates_.end()) return effect::none;
  expected_until_ = long_ago;
  candidates_up_[node] = incarnation;
  return update();
}

scheduler_tracker::effect scheduler_tracker::on_node_down(node_id node, incarnation_id incarnation) {
  if (candidates_.empty()) {
    if (node != scheduler_ || expected_until_ != long_ago) return effect::none;
    up_ = false;
    return effect::lost;
  }
  const auto it = candidates_up_.find(node);
  const bool known = it != candidates_up_.end() && it->second == incarnation;
  const bool led = node == scheduler_ && incarnation == leadership_.incarnation;  // it may have been leaving
  if (!known && !led) return effect::none;
  if (known) candidates_up_.erase(it);
  const auto updated = update();
  return candidates_up_.empty() && expected_until_ == long_ago ? effect::lost : updated;
}

scheduler_tracker::effect scheduler_tracker::on_node_leaving(node_id node, incarnation_id incarnation) {
  if (candidates_.empty()) {
    up_ = up_ && node != scheduler_;
    return effect::none;
  }
  if (const auto it = candidates_up_.find(node); it != candidates_up_.end() && it->second == incarnation)
    candidates_up_.erase(it);
  return update();
}

scheduler_tracker::effect scheduler_tracker::on_leadership(const leadership& latest) {
  if (!latest.later_than(leadership_)) return effect::none;
  leadership_ = latest;
  scheduler_ = latest.scheduler;
  up_ = false;
  return update();
}

void scheduler_tracker::clear(time_point expected_until) {
  up_ = false;
  expected_until_ = expected_until;
  candidates_up_.clear();
}

scheduler_tracker::effect scheduler_tracker::update() {
  const auto it = candidates_up_.find(leadership_.scheduler);
  const bool was_up = std::exchange(up_, leadership_.term != term_id{} && it != candidates_up_.end() &&
                                             it->second == leadership_.incarnation);
  return up_ && !was_up ? effect::resubmit : effect::none;
}

}  // namespace troupe
