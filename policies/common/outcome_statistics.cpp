#include "policies/common/outcome_statistics.hpp"

namespace troupe {

void outcome_statistics::finish(model_id model, duration latency, bool in_time) {
  reserve(model);
  models_[model.value].latency.add(latency);
  models_[model.value].in_time += in_time;
}

std::map<std::string, outcome_summary> outcome_statistics::by_name(
    std::span<const std::string> names, std::span<const outcome_counts> counts) const {
  std::map<std::string, outcome_summary> out;
  for (size_t i = 0; i < names.size(); ++i) {
    auto& sum = out[names[i]];
    if (i < counts.size()) sum.outcomes += counts[i];
    if (i >= models_.size()) continue;
    sum.in_time += models_[i].in_time;
    sum.latency.merge(models_[i].latency);
  }
  return out;
}

}  // namespace troupe
