#include "actors/cluster/own_deployments.hpp"

#include <algorithm>

namespace troupe {

own_deployments::own_deployments(const cluster_spec& cluster, node_id self)
    : has_gateway_(cluster.nodes[self.value].has(node_role::gateway)),
      has_scheduler_(cluster.nodes[self.value].has(node_role::scheduler)),
      domain_(cluster.nodes[self.value].domain) {
  for (uint32_t i = 0; i < cluster.slots.size(); ++i)
    if (cluster.slots[i].node == self) slots_[slot_id{i}];
}

own_deployments::step own_deployments::begin(const deployment& line) {
  step next;
  auto& pending = pending_[line.model] = {line.revision, {}, false, false, {}};
  const bool stays = line.wanted == deployment_state::deployed && has(line);  // only its domain has changed
  if (line.wanted == deployment_state::retiring)
    pending.gateway = has_gateway_;
  else if (!stays)
    for (const auto& [slot, s] : slots_) pending.slots.insert(slot);
  if (line.wanted == deployment_state::deployed) pending.queue = has_scheduler_ && line.leaving != no_domain;
  if (line.wanted == deployment_state::deployed && wants(line) && !stays && !slots_.empty()) {
    next.load = true;
    loading_[line.model] += slots_.size();
    for (auto& [slot, s] : slots_) {
      ++s.loading;
      const auto had = s.models.find(line.model);
      if (had == s.models.end() || had->second.definition == line.definition) continue;
      s.models.erase(had);  // the old definition must not serve as the new one
      next.changed.push_back(slot);
    }
  }
  if (line.wanted != deployment_state::retiring && !wants(line))
    for (auto& [slot, s] : slots_)
      if (s.models.erase(line.model) > 0) next.changed.push_back(slot);
  next.done = done_if_over(line.model);
  return next;
}

/// Every slot has the definition: nothing is to be loaded.
bool own_deployments::has(const deployment& line) const {
  return wants(line) && std::all_of(slots_.begin(), slots_.end(), [&](const auto& s) {
           const auto had = s.second.models.find(line.model);
           return had != s.second.models.end() && had->second.definition == line.definition;
         });
}

own_deployments::step own_deployments::loaded(const load_outcome& o, const deployment& line) {
  step next;
  auto& slot = slots_.at(o.slot);
  --slot.loading;
  --loading_[o.model];
  if (line.revision == o.revision) {
    auto& pending = pending_[o.model];
    if (o.loaded)
      slot.models[o.model] = {line.definition,
                              {o.model, o.loaded->latency.alpha, o.loaded->latency.beta,
                               line.definition.max_batch, o.loaded->signature}};
    else
      pending.problem = o.problem;
    pending.slots.erase(o.slot);
    next.done = done_if_over(o.model);
  }
  // Models of the cluster file are reported together; later ones at once, because another load may take long.
  const bool news = o.loaded && o.revision > 0 && line.revision == o.revision;
  if (news || slot.loading == 0) next.changed.push_back(o.slot);
  return next;
}

std::optional<deployment_part> own_deployments::idle(const model_idle& i) {
  auto& pending = pending_[i.model];
  if (pending.revision != i.revision || pending.over()) return {};
  if (i.who.kind == role::gateway)
    pending.gateway = false;
  else if (i.who.kind == role::model_queue)
    pending.queue = false;
  else
    pending.slots.erase(slot_id{i.who.index});
  return done_if_over(i.model);
}

std::optional<deployment_part> own_deployments::done_if_over(model_id model) {
  const auto& pending = pending_[model];
  if (!pending.over()) return {};
  return done_[model] = {model, pending.revision, pending.problem};
}

bool own_deployments::loading(model_id model) const {
  const auto it = loading_.find(model);
  return it != loading_.end() && it->second > 0;
}

bool own_deployments::loading() const {
  return std::any_of(slots_.begin(), slots_.end(), [](const auto& s) { return s.second.loading > 0; });
}

deployment_report own_deployments::report() const {
  deployment_report out;
  for (const auto& [id, part] : done_) out.parts.push_back(part);
  return out;
}

std::vector<model_ready> own_deployments::models_of(slot_id slot) const {
  std::vector<model_ready> out;
  for (const auto& [id, m] : slots_.at(slot).models) out.push_back(m.ready);
  return out;
}

}  // namespace troupe
