#include "policies/shepherd.hpp"

#include <algorithm>

#include "policies/time_math.hpp"

namespace troupe {

void shepherd::add_slot(slot_id slot, time_point free_at) {
  remove_slot(slot);
  if (slot.value >= known_.size()) known_.resize(slot.value + 1);
  known_[slot.value] = true;
  free_at_.set(slot.value, free_at);
  look_again_ = true;
}

void shepherd::remove_slot(slot_id slot) {
  if (slot.value >= known_.size()) return;
  known_[slot.value] = false;
  free_at_.erase(slot.value);
  running_.erase(slot.value);
}

void shepherd::set_candidate(model_id model, const batch_window& window, duration delay) {
  if (model.value >= models_.size()) models_.resize(model.value + 1);
  auto& m = models_[model.value];
  m.candidate = window;
  m.delay = delay;
  if (!m.unanswered) offer(model.value);
}

void shepherd::offer(uint32_t model) {
  withdraw(model);
  const auto& m = models_[model];
  if (m.candidate.rows == 0) return;
  waiting_.set(model, -static_cast<int64_t>(m.candidate.rows));
  delays_.set(model, -m.delay);
  look_again_ = true;
}

void shepherd::withdraw(uint32_t model) {
  waiting_.erase(model);
  delays_.erase(model);
}

void shepherd::remove_model(model_id model, time_point now) {
  if (model.value >= models_.size()) return;
  withdraw(model.value);
  auto& m = models_[model.value];
  m.candidate = {};
  if (m.unanswered) occupy(model, m.matched, now);
}

void shepherd::occupy(model_id model, slot_id slot, time_point free_at) {
  if (model.value >= models_.size()) return;
  auto& m = models_[model.value];
  if (!m.unanswered) return;
  m.unanswered = false;
  if (m.matched == slot && known_[slot.value]) {
    free_at_.set(slot.value, free_at);
    running_.set(slot.value, m.matched_rows);
  }
  offer(model.value);
  look_again_ = true;
}

void shepherd::set_free_at(slot_id slot, time_point free_at) {
  if (slot.value >= known_.size() || free_at_[slot.value] == never) return;
  free_at_.set(slot.value, free_at);
  look_again_ = true;
}

uint32_t shepherd::to_preempt(time_point now) const {
  const auto smallest = running_.first();
  if (smallest == npos || free_at_[smallest] == never || free_at_[smallest] <= now) return npos;
  return -static_cast<double>(waiting_.best()) >= preempts * static_cast<double>(running_.best()) ? smallest
                                                                                                  : npos;
}

void shepherd::poll(time_point now, std::vector<match>& out) {
  look_again_ = false;
  while (!waiting_.empty()) {
    const auto model = waiting_.first();
    const auto& m = models_[model];
    const auto start = now + m.delay;
    if (start > m.candidate.latest) {  // its queue will offer another
      withdraw(model);
      continue;
    }
    // What has ended is no longer running.
    while (!running_.empty() && free_at_[running_.first()] <= now) running_.erase(running_.first());
    if (free_at_.best() <= start)
      make_match(model, free_at_.first(), free_at_.best(), false, out);
    else if (const auto slot = to_preempt(now); slot != npos)
      make_match(model, slot, now, true, out);
    else
      return;
  }
}

time_point shepherd::wake_at() const {
  if (waiting_.empty()) return never;
  return look_again_ ? long_ago : saturating_subtract(free_at_.best(), -delays_.best());
}

void shepherd::make_match(uint32_t model, uint32_t slot, time_point free_at, bool preempting,
                          std::vector<match>& out) {
  out.push_back({model_id{model}, slot_id{slot}, free_at, preempting});
  withdraw(model);
  auto& m = models_[model];
  m.unanswered = true;
  m.matched = slot_id{slot};
  m.matched_rows = m.candidate.rows;
  m.candidate = {};
  free_at_.erase(slot);
  running_.erase(slot);
}

}  // namespace troupe
