#include "policies/baselines/shepherd.hpp"

#include <algorithm>

#include "policies/common/time_math.hpp"

namespace troupe {

void shepherd::add_slot(slot_id slot, time_point free_at) {
  remove_slot(slot);  // so that the answer to an earlier match on it is ignored
  if (slot.value >= slots_.size()) slots_.resize(slot.value + 1);
  slots_[slot.value] = {true, false, free_at, 0, {}};
  put(slot.value);
}

void shepherd::remove_slot(slot_id slot) {
  if (!is_known(slot)) return;
  if (slots_[slot.value].promised)
    for (auto& m : models_)
      if (m.unanswered && m.matched == slot) m.matched = no_slot;
  slots_[slot.value] = {};
  free_at_.erase(slot.value);
  running_.erase(slot.value);
}

void shepherd::set_models(slot_id slot, std::span<const model_id> models) {
  if (!is_known(slot)) return;
  auto& mine = slots_[slot.value].serves;
  mine.assign(1, false);  // not empty: that would mean all
  for (const auto m : models) {
    if (m.value >= mine.size()) mine.resize(m.value + 1);
    mine[m.value] = true;
  }
  look_again_ = true;
}

bool shepherd::fits(uint32_t model, uint32_t slot) const {
  const auto& serves = slots_[slot].serves;
  return serves.empty() || (model < serves.size() && serves[model]);
}

void shepherd::set_candidate(model_id model, const batch_window& window, duration delay) {
  if (model.value >= models_.size()) models_.resize(model.value + 1);
  auto& m = models_[model.value];
  m.candidate = window;
  m.delay = delay;
  if (!m.unanswered) offer(model.value);
}

void shepherd::offer(uint32_t model) {
  const auto rows = models_[model].candidate.rows;
  waiting_.set(model, rows == 0 ? INT64_MAX : -static_cast<int64_t>(rows));
  look_again_ = true;
}

void shepherd::remove_model(model_id model, time_point now) {
  if (model.value >= models_.size()) return;
  waiting_.erase(model.value);
  auto& m = models_[model.value];
  m.candidate = {};
  if (m.unanswered) occupy(model, m.matched, now);
}

void shepherd::occupy(model_id model, slot_id slot, time_point free_at) {
  if (model.value >= models_.size()) return;
  auto& m = models_[model.value];
  if (!m.unanswered) return;
  m.unanswered = false;
  if (m.matched == slot && slot != no_slot) {
    auto& s = slots_[slot.value];
    s.promised = false;
    s.free_at = free_at;
    s.rows = m.matched_rows;
    put(slot.value);
  }
  offer(model.value);
}

void shepherd::set_free_at(slot_id slot, time_point free_at) {
  if (!is_known(slot) || slots_[slot.value].promised) return;
  slots_[slot.value].free_at = free_at;
  put(slot.value);
}

void shepherd::set_rows(slot_id slot, uint32_t rows) {
  if (!is_known(slot)) return;
  slots_[slot.value].rows = rows;
  if (!slots_[slot.value].promised) put(slot.value);
}

/// Indexes the current state of a slot without an unanswered match.
void shepherd::put(uint32_t slot) {
  const auto& s = slots_[slot];
  free_at_.set(slot, s.free_at);
  running_.set(slot, s.free_at == never || s.rows == 0 ? INT64_MAX : int64_t{s.rows});
  look_again_ = true;
}

/// The earliest free slot among those that have the model.
uint32_t shepherd::first_free(uint32_t model) {
  busy_slots_.clear();
  auto slot = free_at_.first();
  while (slot != npos && !fits(model, slot)) {
    busy_slots_.emplace_back(slot, free_at_[slot]);
    free_at_.erase(slot);
    slot = free_at_.first();
  }
  for (const auto& [s, t] : busy_slots_) free_at_.set(s, t);
  return slot;
}

/// The slot with the smallest running batch among those that have the model, if the model's candidate may
/// preempt it.
uint32_t shepherd::to_preempt(uint32_t model, time_point now) {
  skipped_.clear();
  const auto rows = static_cast<double>(models_[model].candidate.rows);
  auto slot = npos;
  while (!running_.empty() && rows >= preempts * static_cast<double>(running_.best())) {
    slot = running_.first();
    const bool ended = free_at_[slot] <= now;
    if (!ended && fits(model, slot)) break;
    if (!ended) skipped_.emplace_back(slot, running_[slot]);
    running_.erase(slot);
    slot = npos;
  }
  for (const auto& [s, r] : skipped_) running_.set(s, r);
  return slot;
}

void shepherd::poll(time_point now, std::vector<match>& out) {
  look_again_ = false;
  retry_at_ = never;
  set_aside_.clear();
  while (!waiting_.empty()) {
    const auto model = waiting_.first();
    const auto& m = models_[model];
    const auto start = now + m.delay;
    if (start > m.candidate.latest) {  // its queue will offer another
      waiting_.erase(model);
      continue;
    }
    const auto free = first_free(model);
    if (free != npos && free_at_[free] <= start) {
      make_match(model, free, free_at_[free], false, out);
    } else if (const auto slot = to_preempt(model, now); slot != npos) {
      make_match(model, slot, now, true, out);
    } else {
      if (free != npos) retry_at_ = std::min(retry_at_, saturating_subtract(free_at_[free], m.delay));
      const bool nothing_left =
          free == free_at_.first() &&
          (running_.empty() || m.candidate.rows < preempts * static_cast<double>(running_.best()));
      if (nothing_left) break;  // smaller candidates would find none either
      set_aside_.emplace_back(model, waiting_[model]);
      waiting_.erase(model);
    }
  }
  for (const auto& [model, rows] : set_aside_) waiting_.set(model, rows);
}

time_point shepherd::wake_at() const {
  if (waiting_.empty()) return never;
  return look_again_ ? long_ago : retry_at_;
}

void shepherd::make_match(uint32_t model, uint32_t slot, time_point free_at, bool preempting,
                          std::vector<match>& out) {
  out.push_back({model_id{model}, slot_id{slot}, free_at, preempting});
  waiting_.erase(model);
  auto& m = models_[model];
  m.unanswered = true;
  m.matched = slot_id{slot};
  m.matched_rows = m.candidate.rows;
  m.candidate = {};
  slots_[slot].promised = true;
  free_at_.erase(slot);
  running_.erase(slot);
}

}  // namespace troupe
