#include "policies/batching/model_placements.hpp"

#include <algorithm>

namespace troupe {

void model_placements::set(slot_id slot, const address& worker,
                           const std::optional<latency_model>& measured) {
  reported_[slot] = worker.incarnation;
  awaited_.erase(slot);
  const auto known = placements_.find(slot);
  const bool same = known != placements_.end() && known->second.node == worker.node &&
                    known->second.incarnation == worker.incarnation;
  if (known != placements_.end()) placements_.erase(known);
  if (measured) {
    replaced_ |= !same;
    placements_[slot] = {worker.node, worker.incarnation, *measured};
  }
  changed_ = true;
}

void model_placements::set_service(slot_id slot, bool in) {
  if (in)
    out_of_service_.erase(slot);
  else
    out_of_service_.insert(slot);
  changed_ = true;
}

void model_placements::forget(node_id node, incarnation_id incarnation) {
  const auto gone = std::erase_if(placements_, [&](const auto& p) {
    return p.second.node == node && p.second.incarnation == incarnation;
  });
  for (uint32_t i = 0; i < slot_nodes_.size(); ++i) {
    const slot_id slot{i};
    if (slot_nodes_[i] != node) continue;
    if (const auto r = reported_.find(slot); r == reported_.end())
      awaited_.erase(slot);
    else if (r->second == incarnation)
      reported_.erase(r);
  }
  replaced_ |= gone > 0;
  changed_ = true;
}

void model_placements::await(time_point until) {
  for (uint32_t i = 0; i < slot_nodes_.size(); ++i)
    if (!reported_.contains(slot_id{i})) awaited_.insert(slot_id{i});
  awaited_until_ = until;
  changed_ = true;
}

void model_placements::clear() {
  placements_.clear();
  reported_.clear();
  awaited_.clear();
}

void model_placements::go_over_to(uint32_t domain) {
  domain_ = domain;
  out_of_service_.clear();
  replaced_ = changed_ = true;
}

bool model_placements::has(slot_id slot, incarnation_id incarnation) const {
  const auto at = placements_.find(slot);
  return at != placements_.end() && at->second.incarnation == incarnation;
}

model_slots model_placements::summary() const {
  model_slots s;
  for (const auto& [slot, p] : placements_) {
    if (domain_of(slot) != domain_) continue;
    ++s.here;
    s.in_service += !out_of_service_.contains(slot);
    s.slowest.alpha = std::max(s.slowest.alpha, p.latency.alpha);
    s.slowest.beta = std::max(s.slowest.beta, p.latency.beta);
  }
  s.replaced = replaced_;
  if (std::ranges::any_of(awaited_, [this](slot_id slot) { return domain_of(slot) == domain_; }))
    s.expected_until = awaited_until_;
  return s;
}

model_slots model_placements::take_summary() {
  const auto s = summary();
  changed_ = replaced_ = false;
  return s;
}

}  // namespace troupe
