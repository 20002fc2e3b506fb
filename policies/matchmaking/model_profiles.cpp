#include "policies/matchmaking/model_profiles.hpp"

#include <algorithm>

namespace troupe {

model_profiles::model_profiles(const options& o, matchmaking_policy& policy)
    : policy_(policy),
      places_(!o.models.empty()),
      domain_(o.domain),
      network_(o.network),
      response_(o.response) {
  for (uint32_t i = 0; i < o.models.size(); ++i) {
    if (o.models[i].domain != domain_) continue;
    served_[model_id{i}] = o.models[i];
    set(model_id{i});
  }
}

void model_profiles::on_change(const deployment& line) {
  if (!places_) return;
  if (line.wanted == deployment_state::undeployed || line.domain != domain_) {
    if (served_.erase(line.model) > 0) policy_.set_profile(line.model, {});
    return;
  }
  served_[line.model] = line.definition;
  set(line.model);
}

void model_profiles::on_slot_ready(const slot_ready& s) {
  if (!places_) return;
  forget(s.slot);
  for (const auto& m : s.models) {
    measured_[m.model][s.slot] = {m.alpha, m.beta};
    if (served_.contains(m.model)) set(m.model);
  }
}

void model_profiles::forget(slot_id slot) {
  for (auto& [model, by_slot] : measured_)
    if (by_slot.erase(slot) > 0 && !by_slot.empty() && served_.contains(model)) set(model);
}

/// Without a configured latency, the profile has the slowest one measured on any slot, as the plans of queues
/// do.
void model_profiles::set(model_id model) {
  const auto& d = served_[model];
  auto latency = d.latency;
  if (latency == latency_model{})
    for (const auto& [slot, l] : measured_[model]) {
      latency.alpha = std::max(latency.alpha, l.alpha);
      latency.beta = std::max(latency.beta, l.beta);
    }
  policy_.set_profile(model, {latency, d.slo - response_ - network_(1), d.max_batch, d.weight});
}

}  // namespace troupe
