#include "policies/matchmaking/timer_matchmaking.hpp"

#include <algorithm>

#include "policies/common/time_math.hpp"

namespace troupe {

void timer_matchmaking::add_slot(slot_id slot, time_point free_at) {
  remove_slot(slot);  // so that the answer to an earlier match on it is ignored
  if (slot.value >= slots_.size()) {
    slots_.resize(slot.value + 1, slot_state::unknown);
    serves_.resize(slot.value + 1);
  }
  slots_[slot.value] = slot_state::known;
  free_at_.set(slot.value, free_at);
}

void timer_matchmaking::remove_slot(slot_id slot) {
  if (state_of(slot) == slot_state::unknown) return;
  if (state_of(slot) == slot_state::promised)
    for (auto& m : models_)
      if (m.unanswered && m.matched == slot) m.matched = no_slot;
  unpark_all();
  slots_[slot.value] = slot_state::unknown;
  serves_[slot.value].clear();
  free_at_.erase(slot.value);
}

void timer_matchmaking::set_models(slot_id slot, std::span<const model_id> models) {
  if (state_of(slot) == slot_state::unknown) return;
  unpark_all();
  auto& mine = serves_[slot.value];
  mine.assign(1, false);  // not empty: that would mean all
  for (const auto m : models) {
    if (m.value >= mine.size()) mine.resize(m.value + 1);
    mine[m.value] = true;
  }
}

bool timer_matchmaking::fits(uint32_t model, uint32_t slot) const {
  const auto& models = serves_[slot];
  return models.empty() || (model < models.size() && models[model]);
}

/// The slot for a model that starts at `start`; `npos` if there is none.
uint32_t timer_matchmaking::slot_for(uint32_t model, time_point start) {
  skipped_.clear();
  auto slot = choose(free_at_, start);
  while (slot != slot_times::npos && !fits(model, slot)) {
    skipped_.emplace_back(slot, free_at_[slot]);
    free_at_.erase(slot);
    slot = choose(free_at_, start);
  }
  for (const auto& [s, t] : skipped_) free_at_.set(s, t);
  return slot;
}

/// The waiting model with the earliest latest start that fits the slot; `npos` if there is none.
uint32_t timer_matchmaking::model_for(uint32_t slot) {
  skipped_.clear();
  auto model = waiting_by_latest_.first();
  while (model != slot_times::npos && !fits(model, slot)) {
    skipped_.emplace_back(model, waiting_by_latest_[model]);
    waiting_by_latest_.erase(model);
    model = waiting_by_latest_.first();
  }
  for (const auto& [m, t] : skipped_) waiting_by_latest_.set(m, t);
  return model;
}

void timer_matchmaking::unpark_all() {
  for (const auto& [slot, t] : parked_) free_at_.set(slot, t);
  parked_.clear();
}

void timer_matchmaking::set_candidate(model_id model, const batch_window& window, duration delay) {
  if (model.value >= models_.size()) models_.resize(model.value + 1);
  auto& m = models_[model.value];
  m.candidate = window;
  m.delay = delay;
  unschedule(model.value);
  if (!m.unanswered) schedule(model.value);
}

void timer_matchmaking::remove_model(model_id model, time_point now) {
  if (model.value >= models_.size()) return;
  unschedule(model.value);
  auto& m = models_[model.value];
  m.candidate = {};
  if (m.unanswered) occupy(model, m.matched, now);
}

void timer_matchmaking::occupy(model_id model, slot_id slot, time_point free_at) {
  if (model.value >= models_.size()) return;
  auto& m = models_[model.value];
  if (!m.unanswered) return;
  m.unanswered = false;
  if (m.matched == slot && slot != no_slot) {
    slots_[slot.value] = slot_state::known;
    free_at_.set(slot.value, free_at);
  }
  schedule(model.value);
}

void timer_matchmaking::set_free_at(slot_id slot, time_point free_at) {
  if (state_of(slot) != slot_state::known) return;
  unpark_all();
  free_at_.set(slot.value, free_at);
}

void timer_matchmaking::poll(time_point now, std::vector<match>& out) {
  unpark_all();
  while (coming_up_.best() <= now) {
    const uint32_t model = coming_up_.first();
    coming_up_.erase(model);
    const auto& m = models_[model];
    const auto start = std::max(m.candidate.exec_at, now + m.delay);
    if (start > m.candidate.latest) continue;
    if (const uint32_t slot = slot_for(model, start); slot != slot_times::npos) {
      make_match(model, slot, out);
    } else {
      waiting_by_latest_.set(model, m.candidate.latest);
      waiting_by_delay_.set(model, -m.delay);
    }
  }
  while (slot_comes_up_at() <= now) {
    const uint32_t slot = free_at_.first();
    const uint32_t model = model_for(slot);
    if (model == slot_times::npos) {
      parked_.emplace_back(slot, free_at_[slot]);
      free_at_.erase(slot);
      continue;
    }
    const auto start = std::max(free_at_[slot], now + models_[model].delay);
    if (start > waiting_by_latest_[model])
      unschedule(model);
    else
      make_match(model, slot, out);
  }
}

time_point timer_matchmaking::wake_at() const { return std::min(coming_up_.best(), slot_comes_up_at()); }

time_point timer_matchmaking::slot_comes_up_at() const {
  if (waiting_by_latest_.empty()) return never;
  return saturating_subtract(free_at_.best(), -waiting_by_delay_.best());
}

void timer_matchmaking::schedule(uint32_t model) {
  const auto& m = models_[model];
  if (m.candidate.rows > 0) coming_up_.set(model, saturating_subtract(m.candidate.exec_at, m.delay));
}

void timer_matchmaking::unschedule(uint32_t model) {
  coming_up_.erase(model);
  waiting_by_latest_.erase(model);
  waiting_by_delay_.erase(model);
}

void timer_matchmaking::make_match(uint32_t model, uint32_t slot, std::vector<match>& out) {
  out.push_back({model_id{model}, slot_id{slot}, free_at_[slot]});
  unschedule(model);
  models_[model].candidate = {};
  models_[model].unanswered = true;
  models_[model].matched = slot_id{slot};
  slots_[slot] = slot_state::promised;
  free_at_.erase(slot);
}

timer_matchmaking::slot_state timer_matchmaking::state_of(slot_id slot) const {
  return slot.value < slots_.size() ? slots_[slot.value] : slot_state::unknown;
}

}  // namespace troupe
