// What an arbiter tells a policy that places models (policies/baselines/nexus_matchmaking.hpp), and what that
// policy has to tell the queues.
#include <algorithm>

#include "actors/tensor/rank_arbiter.hpp"

namespace troupe {

void rank_arbiter::begin_placement(const options& o) {
  for (uint32_t i = 0; i < o.models.size(); ++i) {
    if (o.models[i].domain != self_.index) continue;
    served_[model_id{i}] = o.models[i];
    send_profile(model_id{i});
  }
}

/// A model that goes, or moves to another domain, leaves its place to the others.
void rank_arbiter::place(const deployment& line) {
  if (!places_) return;
  if (line.wanted == deployment_state::undeployed || line.domain != self_.index) {
    if (served_.erase(line.model) > 0) policy_->set_profile(line.model, {});
    return;
  }
  served_[line.model] = line.definition;
  send_profile(line.model);
}

void rank_arbiter::learn_latencies(const slot_ready& s) {
  if (!places_) return;
  forget_latencies(s.slot);
  for (const auto& m : s.models) {
    measured_[m.model][s.slot] = {m.alpha, m.beta};
    if (served_.contains(m.model)) send_profile(m.model);
  }
}

void rank_arbiter::forget_latencies(slot_id id) {
  for (auto& [model, by_slot] : measured_)
    if (by_slot.erase(id) > 0 && !by_slot.empty() && served_.contains(model)) send_profile(model);
}

/// Measured latencies differ between slots: plan with the slowest, as the queues do.
void rank_arbiter::send_profile(model_id model) {
  const auto& d = served_[model];
  auto latency = d.latency;
  if (latency == latency_model{})
    for (const auto& [where, l] : measured_[model]) {
      latency.alpha = std::max(latency.alpha, l.alpha);
      latency.beta = std::max(latency.beta, l.beta);
    }
  policy_->set_profile(model, {latency, d.slo - response_ - network_(1), d.max_batch, d.weight});
}

void rank_arbiter::send_backends() {
  if (!places_) return;
  backends_.clear();
  policy_->take_backends(backends_);
  for (const auto& m : backends_) {
    backends update;
    for (const auto& b : m.of) update.of.push_back({b.slot, b.batch, b.weight});
    send(on_node(self_.node, role::model_queue, m.model.value), std::move(update));
  }
}

}  // namespace troupe
