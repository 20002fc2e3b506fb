#include "policies/common/outcome_statistics.hpp"

namespace troupe {

void outcome_statistics::finish(model_id model, duration latency, bool in_time) {
  auto& m = models_[model];
  m.latency.add(latency);
  m.in_time += in_time;
}

void outcome_statistics::forget(model_id model) {
  const auto known = models_.find(model);
  if (known == models_.end()) return;
  if (!forgotten_) forgotten_ = model;
  if (*forgotten_ == model) return;
  auto& sum = models_.at(*forgotten_);
  sum.latency.merge(known->second.latency);
  sum.in_time += known->second.in_time;
  models_.erase(known);
}

std::map<std::string, outcome_summary> outcome_statistics::by_name(
    std::span<const std::string> names, std::span<const outcome_counts> counts) const {
  std::map<std::string, outcome_summary> out;
  for (size_t i = 0; i < names.size(); ++i) {
    auto& sum = out[names[i]];
    if (i < counts.size()) sum.outcomes += counts[i];
    const auto known = models_.find(model_id{static_cast<uint32_t>(i)});
    if (known == models_.end()) continue;
    sum.in_time += known->second.in_time;
    sum.latency.merge(known->second.latency);
  }
  return out;
}

}  // namespace troupe
