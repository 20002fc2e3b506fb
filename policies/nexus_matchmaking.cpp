#include "policies/nexus_matchmaking.hpp"

#include <algorithm>

#include "policies/time_math.hpp"

namespace troupe {

nexus_matchmaking::model_state& nexus_matchmaking::state_of(uint32_t model) {
  if (model >= models_.size()) models_.resize(model + 1);
  return models_[model];
}

void nexus_matchmaking::add_slot(slot_id slot, time_point free_at) {
  remove_slot(slot);
  if (slot.value >= slots_.size()) slots_.resize(slot.value + 1);
  slots_[slot.value].known = true;
  slots_[slot.value].free_at = free_at;
  reconsider(slot.value);
}

void nexus_matchmaking::remove_slot(slot_id slot) {
  if (slot.value >= slots_.size()) return;
  set_models(slot, {});
  slots_[slot.value] = {};
  due_.erase(slot.value);
}

void nexus_matchmaking::set_models(slot_id slot, std::span<const model_id> models) {
  if (slot.value >= slots_.size()) return;
  auto& s = slots_[slot.value];
  for (const auto m : s.models) std::erase(models_[m].slots, slot.value);
  s.models.clear();
  for (const auto m : models) {
    s.models.push_back(m.value);
    state_of(m.value).slots.push_back(slot.value);
  }
  s.turn = 0;
  reconsider(slot.value);
}

void nexus_matchmaking::set_candidate(model_id model, const batch_window& window, duration delay) {
  auto& m = state_of(model.value);
  m.candidate = window;
  m.delay = delay;
  for (const auto s : m.slots) reconsider(s);
}

void nexus_matchmaking::remove_model(model_id model, time_point now) {
  auto& m = state_of(model.value);
  m.candidate = {};
  if (m.unanswered) occupy(model, m.matched, now);
  for (const auto s : m.slots) reconsider(s);
}

void nexus_matchmaking::occupy(model_id model, slot_id slot, time_point free_at) {
  auto& m = state_of(model.value);
  if (!m.unanswered) return;
  m.unanswered = false;
  if (m.matched == slot && slots_[slot.value].known) slots_[slot.value].free_at = free_at;
  for (const auto s : m.slots) reconsider(s);
}

void nexus_matchmaking::set_free_at(slot_id slot, time_point free_at) {
  if (slot.value >= slots_.size() || slots_[slot.value].free_at == never) return;
  slots_[slot.value].free_at = free_at;
  reconsider(slot.value);
}

/// When the slot can next run something.
void nexus_matchmaking::reconsider(uint32_t slot) {
  const auto& s = slots_[slot];
  duration delay = duration::min();
  for (const auto i : s.models)
    if (const auto& m = models_[i]; m.candidate.rows > 0 && !m.unanswered) delay = std::max(delay, m.delay);
  const bool idle = !s.known || s.free_at == never || delay == duration::min();
  due_.set(slot, idle ? never : saturating_subtract(s.free_at, delay));
}

void nexus_matchmaking::poll(time_point now, std::vector<match>& out) {
  while (due_.best() <= now) {
    const auto slot = due_.first();
    auto& s = slots_[slot];
    for (size_t i = 0; i < s.models.size(); ++i) {
      const auto model = s.models[(s.turn + i) % s.models.size()];
      auto& m = models_[model];
      if (m.candidate.rows == 0 || m.unanswered) continue;
      const auto start = std::max(s.free_at, now + m.delay);
      if (start > m.candidate.latest) {  // its queue will offer another
        m.candidate = {};
        continue;
      }
      s.turn = (s.turn + i + 1) % s.models.size();
      out.push_back({model_id{model}, slot_id{slot}, s.free_at});
      m.candidate = {};
      m.unanswered = true;
      m.matched = slot_id{slot};
      s.free_at = never;
      for (const auto other : m.slots) reconsider(other);
      break;
    }
    reconsider(slot);
  }
}

}  // namespace troupe
