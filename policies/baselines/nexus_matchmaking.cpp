#include "policies/baselines/nexus_matchmaking.hpp"

#include <algorithm>
#include <utility>

#include "policies/common/time_math.hpp"

namespace troupe {

nexus_matchmaking::model_state& nexus_matchmaking::state_of(uint32_t model) {
  if (model >= models_.size()) models_.resize(model + 1);
  return models_[model];
}

void nexus_matchmaking::add_slot(slot_id slot, time_point free_at) {
  remove_slot(slot);  // so that the answer to an earlier match on it is ignored
  if (slot.value >= slots_.size()) slots_.resize(slot.value + 1);
  slots_[slot.value].known = true;
  slots_[slot.value].free_at = free_at;
}

void nexus_matchmaking::remove_slot(slot_id slot) {
  if (slot.value >= slots_.size() || !slots_[slot.value].known) return;
  if (slots_[slot.value].promised)
    for (auto& m : models_)
      if (m.unanswered && m.matched == slot) m.matched = no_slot;
  planner_.remove_slot(slot);
  for (const auto& t : slots_[slot.value].turns)
    std::erase_if(models_[t.model].places, [&](const place& p) { return p.slot == slot.value; });
  slots_[slot.value] = {};
  due_.erase(slot.value);
}

void nexus_matchmaking::set_models(slot_id slot, std::span<const model_id> models) {
  if (slot.value < slots_.size() && slots_[slot.value].known) planner_.set_slot(slot, models);
}

/// Replaces the previous placement; models that stay on a slot keep their turn.
void nexus_matchmaking::plan(time_point now) {
  const auto placed = planner_.make(now);
  for (auto& m : models_) m.places.clear();
  std::vector<std::vector<backend>> backends(models_.size());
  for (uint32_t s = 0; s < slots_.size(); ++s) {
    const auto here = placed.find(slot_id{s});
    take_turns(s, here == placed.end() ? std::vector<nexus_planner::placed>{} : here->second);
    if (here == placed.end()) continue;
    backends.resize(models_.size());
    for (const auto& p : here->second) backends[p.model.value].push_back({slot_id{s}, p.batch, p.rate});
  }
  for (uint32_t i = 0; i < models_.size(); ++i) {
    if (models_[i].backends == backends[i]) continue;
    models_[i].backends = std::move(backends[i]);
    mark_changed(i);
  }
}

void nexus_matchmaking::take_turns(uint32_t slot, const std::vector<nexus_planner::placed>& models) {
  auto& s = slots_[slot];
  const auto same = [](const turn& t, const nexus_planner::placed& p) { return t.model == p.model.value; };
  if (!std::equal(s.turns.begin(), s.turns.end(), models.begin(), models.end(), same)) {
    const auto old = std::exchange(s.turns, {});
    s.next = 0;
    for (const auto& p : models) {
      const auto& m = state_of(p.model.value);
      const auto before = std::find_if(old.begin(), old.end(), [&](const turn& t) { return same(t, p); });
      s.turns.push_back({p.model.value, before != old.end() ? before->ready : m.anywhere});
    }
  }
  for (uint32_t i = 0; i < s.turns.size(); ++i) state_of(s.turns[i].model).places.push_back({slot, i});
  reconsider(slot);
}

void nexus_matchmaking::mark_changed(uint32_t model) {
  if (!std::exchange(models_[model].changed, true)) changed_.push_back(model);
}

void nexus_matchmaking::take_backends(std::vector<model_backends>& out) {
  for (const auto i : changed_) {
    models_[i].changed = false;
    out.push_back({model_id{i}, models_[i].backends});
  }
  changed_.clear();
}

void nexus_matchmaking::set_candidate_on(model_id model, const batch_window& window, duration delay,
                                         std::span<const slot_id> slots) {
  if (window.rows == 0) return withdraw(model.value);
  auto& m = state_of(model.value);
  const bool same_delay = m.delay == delay;
  m.candidate = window;
  m.delay = delay;
  m.anywhere = slots.empty();
  size_t known = 0;
  auto at = slots.begin();
  for (const auto& p : m.places) {
    while (at != slots.end() && at->value < p.slot) ++at;
    const bool ready = m.anywhere || (at != slots.end() && at->value == p.slot);
    known += ready;
    const bool before = std::exchange(slots_[p.slot].turns[p.turn].ready, ready);
    if (before != ready || !same_delay) reconsider(p.slot);
  }
  // Its queue does not know its backends, like a queue that was just created.
  const bool stranger = m.anywhere ? !m.backends.empty() : known < slots.size();
  if (stranger && !m.reminded) mark_changed(model.value);
  m.reminded = stranger;
}

void nexus_matchmaking::withdraw(uint32_t model) {
  auto& m = state_of(model);
  m.candidate = {};
  m.anywhere = false;
  for (const auto& p : m.places) slots_[p.slot].turns[p.turn].ready = false;
  reconsider_all(m);
}

void nexus_matchmaking::remove_model(model_id model, time_point now) {
  withdraw(model.value);
  auto& m = models_[model.value];
  m.reminded = false;
  if (m.unanswered) occupy(model, m.matched, now);
}

void nexus_matchmaking::occupy(model_id model, slot_id slot, time_point free_at) {
  auto& m = state_of(model.value);
  if (!m.unanswered) return;
  m.unanswered = false;
  if (m.matched == slot && slot != no_slot) {
    slots_[slot.value].promised = false;
    slots_[slot.value].free_at = free_at;
    reconsider(slot.value);
  }
  reconsider_all(m);
}

void nexus_matchmaking::set_free_at(slot_id slot, time_point free_at) {
  if (slot.value >= slots_.size() || !slots_[slot.value].known || slots_[slot.value].promised) return;
  slots_[slot.value].free_at = free_at;
  reconsider(slot.value);
}

/// The next turn of a model with a batch for this slot; the number of turns if there is none.
size_t nexus_matchmaking::first_ready(const slot_state& s) const {
  for (size_t i = 0; i < s.turns.size(); ++i)
    if (const auto at = (s.next + i) % s.turns.size(); s.turns[at].ready) return at;
  return s.turns.size();
}

/// Updates when the slot can next run a batch.
void nexus_matchmaking::reconsider(uint32_t slot) {
  const auto& s = slots_[slot];
  const auto at = first_ready(s);
  if (!s.known || s.promised || at == s.turns.size() || models_[s.turns[at].model].unanswered)
    return due_.erase(slot);
  due_.set(slot, saturating_subtract(s.free_at, models_[s.turns[at].model].delay));
}

void nexus_matchmaking::reconsider_all(const model_state& m) {
  for (const auto& p : m.places) reconsider(p.slot);
}

void nexus_matchmaking::poll(time_point now, std::vector<match>& out) {
  if (planner_.due() <= now) plan(now);
  while (due_.best() <= now) {
    const auto slot = due_.first();
    auto& s = slots_[slot];
    const auto at = first_ready(s);
    const auto model = s.turns[at].model;
    auto& m = models_[model];
    if (std::max(s.free_at, now + m.delay) > m.candidate.latest) {
      withdraw(model);  // its queue will offer another
      continue;
    }
    out.push_back({model_id{model}, slot_id{slot}, s.free_at});
    s.turns[at].ready = false;
    s.next = (at + 1) % s.turns.size();
    s.promised = true;
    m.unanswered = true;
    m.matched = slot_id{slot};
    reconsider(slot);
    reconsider_all(m);
  }
}

}  // namespace troupe
