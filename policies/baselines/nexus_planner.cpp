#include "policies/baselines/nexus_planner.hpp"

#include <algorithm>

#include "policies/baselines/nexus_backend.hpp"

namespace troupe {
namespace {

constexpr double min_weight = 1e-3;  // a model without weight may get requests, so it needs a slot, too

/// Distributes the models evenly over the slots, with their largest feasible batches.
squishy_plan deal_out(const std::vector<packing_session>& sessions, size_t slots) {
  squishy_plan out(slots);
  size_t next = 0;
  for (uint32_t i = 0; i < sessions.size(); ++i) {
    const auto& s = sessions[i];
    if (s.rate <= 0 || s.latency(1) > s.slo) continue;
    batching_parameters p;
    p.latency = s.latency;
    p.slo = s.slo;
    p.max_rows = s.max_rows;
    out[next++ % slots].push_back({i, nexus_backend::planned_batch(p), s.rate});
  }
  return out;
}

}  // namespace

void nexus_planner::set_profile(model_id model, const model_profile& p) {
  const auto known = models_.find(model);
  if (known != models_.end() ? known->second.profile == p : p.max_rows == 0) return;
  changed_ = true;
  if (p.max_rows == 0)
    models_.erase(known);
  else
    models_[model].profile = p;
}

void nexus_planner::set_slot(slot_id slot, std::span<const model_id> models) {
  std::vector<model_id> has(models.begin(), models.end());
  std::sort(has.begin(), has.end());
  auto& known = slots_[slot];
  if (known == has) return;
  known = std::move(has);
  changed_ = true;
}

void nexus_planner::remove_slot(slot_id slot) {
  if (slots_.erase(slot) > 0) changed_ = true;
}

void nexus_planner::count_requests(model_id model, uint64_t requests, time_point now) {
  const auto known = models_.find(model);
  if (known == models_.end() || requests == 0) return;
  known->second.requests += requests;
  if (epoch_ends_ == never) epoch_ends_ = now + epoch;
}

nexus_planner::plan nexus_planner::make(time_point now) {
  if (now >= epoch_ends_) end_epoch();
  changed_ = false;
  std::map<std::vector<model_id>, std::vector<slot_id>> groups;
  std::map<model_id, size_t> slots_of;
  for (const auto& [slot, has] : slots_) {
    std::vector<model_id> models;
    for (const auto m : has)
      if (models_.contains(m)) models.push_back(m);
    for (const auto m : models) ++slots_of[m];
    groups[models].push_back(slot);
  }
  plan out;
  for (const auto& [models, slots] : groups) pack(slots, models, slots_of, out);
  return out;
}

void nexus_planner::end_epoch() {
  for (auto& [id, m] : models_) {
    m.rate = std::max(1.0, static_cast<double>(m.requests) / to_seconds(epoch));
    m.requests = 0;
  }
  measured_ = true;
  epoch_ends_ = never;
}

double nexus_planner::rate_of(const known_model& m) const {
  if (!measured_) return m.profile.weight > 0 ? m.profile.weight : min_weight;
  if (m.rate > 0) return m.rate;
  double sum = 0, count = 0;
  for (const auto& [id, other] : models_) {
    sum += other.rate;
    count += other.rate > 0;
  }
  return count > 0 ? sum / count : 1;
}

void nexus_planner::pack(const std::vector<slot_id>& slots, const std::vector<model_id>& models,
                         const std::map<model_id, size_t>& slots_of, plan& out) const {
  std::vector<packing_session> sessions;
  for (const auto id : models) {
    const auto& m = models_.at(id);
    const auto share = static_cast<double>(slots.size()) / static_cast<double>(slots_of.at(id));
    sessions.push_back({m.profile.latency, m.profile.slo, rate_of(m) * share, m.profile.max_rows});
  }
  auto packed = squishy_packing(sessions, static_cast<uint32_t>(slots.size()));
  if (std::ranges::all_of(packed, [](const auto& slot) { return slot.empty(); }))
    packed = deal_out(sessions, slots.size());
  for (size_t i = 0; i < slots.size(); ++i)
    for (const auto& p : packed[i]) out[slots[i]].push_back({models[p.model], p.batch, p.rate});
}

}  // namespace troupe
