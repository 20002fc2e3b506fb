#include "actors/tensor/catalog.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

catalog::catalog(const std::vector<entry>& models) {
  for (const auto& m : models) {
    models_[m.model] = std::make_shared<entry>(m);
    names_[m.name] = m.model;
  }
}

void catalog::open(entry model) {
  std::lock_guard lock(mutex_);
  const auto id = model.model;
  closed_.erase(id);
  if (const auto known = models_.find(id); known != models_.end()) {
    if (known->second->name == model.name && known->second->slo == model.slo &&
        known->second->images == model.images && known->second->engine == model.engine)
      return;
    names_.erase(known->second->name);
  }
  model.awaited = false;
  names_[model.name] = id;
  models_[id] = std::make_shared<entry>(std::move(model));
  for (const auto& [slot, s] : slots_) {
    slot_ready only{s.slot, s.worker, {}};
    for (const auto& m : s.models)
      if (m.model == id) only.models.push_back(m);
    count(only, false);
  }
}

void catalog::close(model_id model, closed_model as) {
  std::lock_guard lock(mutex_);
  if (as.name.empty())
    closed_.erase(model);
  else
    closed_[model] = std::move(as);
  const auto it = models_.find(model);
  if (it == models_.end()) return;
  if (const auto n = names_.find(it->second->name); n->second == model) names_.erase(n);
  models_.erase(it);
}

void catalog::count(const slot_ready& s, bool gone) {
  for (const auto& m : s.models) {
    const auto it = models_.find(m.model);
    if (it == models_.end()) continue;
    auto e = std::make_shared<entry>(*it->second);
    if (gone) {
      --e->slots;
    } else {
      ++e->slots;
      e->awaited = true;
      e->signature = m.signature;
      e->max_batch = m.max_batch;
    }
    it->second = std::move(e);
  }
}

void catalog::add(const slot_ready& s) {
  std::lock_guard lock(mutex_);
  if (const auto known = slots_.find(s.slot); known != slots_.end()) count(known->second, true);
  slots_[s.slot] = s;
  count(s, false);
}

void catalog::remove_node(node_id node) {
  std::lock_guard lock(mutex_);
  std::erase_if(slots_, [&](const auto& x) {
    if (x.second.worker.node != node) return false;
    count(x.second, true);
    return true;
  });
}

void catalog::clear() {
  std::lock_guard lock(mutex_);
  slots_.clear();
  for (auto& [id, model] : models_) {
    auto e = std::make_shared<entry>(*model);
    e->slots = 0;
    model = std::move(e);
  }
}

catalog::view catalog::find(std::string_view name) const {
  std::lock_guard lock(mutex_);
  const auto it = names_.find(name);
  if (it == names_.end()) return {};
  return models_.at(it->second);
}

std::vector<catalog::view> catalog::all() const {
  std::lock_guard lock(mutex_);
  std::vector<view> out;
  for (const auto& [id, e] : models_) out.push_back(e);
  return out;
}

std::vector<catalog::closed_model> catalog::closed() const {
  std::lock_guard lock(mutex_);
  std::map<std::string_view, bool> unloading;
  for (const auto& [id, m] : closed_)
    if (!names_.contains(m.name)) unloading[m.name] |= m.unloading;
  std::vector<closed_model> out;
  for (const auto& [name, now] : unloading) out.push_back({std::string(name), now});
  return out;
}

std::vector<slot_ready> catalog::slots() const {
  std::lock_guard lock(mutex_);
  std::vector<slot_ready> out;
  for (const auto& [id, s] : slots_) out.push_back(s);
  return out;
}

void catalog::set_scheduler_up(bool up) {
  std::lock_guard lock(mutex_);
  scheduler_up_ = up;
}

bool catalog::serving() const {
  std::lock_guard lock(mutex_);
  return scheduler_up_ && std::all_of(models_.begin(), models_.end(), [](const auto& x) {
           return x.second->slots > 0 || !x.second->awaited;
         });
}

}  // namespace troupe
