#include "actors/catalog.hpp"

#include <algorithm>

namespace troupe {

catalog::catalog(std::vector<entry> models) : models_(std::move(models)) {}

void catalog::add(const slot_ready& s) {
  std::lock_guard lock(mutex_);
  const bool known = slots_.contains(s.slot);
  slots_[s.slot] = s;
  for (const auto& m : s.models) {
    if (m.model.value >= models_.size()) continue;
    auto& e = models_[m.model.value];
    e.signature = m.signature;
    e.max_batch = m.max_batch;
    if (!known) ++e.slots;
  }
}

void catalog::remove_node(node_id node) {
  std::lock_guard lock(mutex_);
  for (auto it = slots_.begin(); it != slots_.end();) {
    if (it->second.worker.node != node) {
      ++it;
      continue;
    }
    for (const auto& m : it->second.models)
      if (m.model.value < models_.size()) --models_[m.model.value].slots;
    it = slots_.erase(it);
  }
}

void catalog::clear() {
  std::lock_guard lock(mutex_);
  slots_.clear();
  for (auto& e : models_) e.slots = 0;
}

std::optional<catalog::entry> catalog::find(std::string_view name) const {
  std::lock_guard lock(mutex_);
  const auto it =
      std::find_if(models_.begin(), models_.end(), [&](const entry& e) { return e.name == name; });
  if (it == models_.end()) return {};
  return *it;
}

std::vector<catalog::entry> catalog::all() const {
  std::lock_guard lock(mutex_);
  return models_;
}

void catalog::set_scheduler_up(bool up) {
  std::lock_guard lock(mutex_);
  scheduler_up_ = up;
}

bool catalog::serving() const {
  std::lock_guard lock(mutex_);
  return scheduler_up_ &&
         std::all_of(models_.begin(), models_.end(), [](const entry& e) { return e.slots > 0; });
}

}  // namespace troupe
