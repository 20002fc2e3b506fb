#include "policies/scaling/slot_scaling.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

namespace troupe {

void slot_scaling::begin(bool granting) {
  advisor_.reset();
  load_ = {};
  next_sample_ = never;
  if (!spec_ || !granting) return;
  const auto max_gpus = spec_->max_gpus == 0 ? ~0u : spec_->max_gpus;
  advisor_.emplace(autoscale_parameters{spec_->bad_rate, spec_->reserve, spec_->min_gpus, max_gpus});
  next_sample_ = time_point{};
}

void slot_scaling::count_requests(uint64_t good, uint64_t bad) {
  load_.good += good;
  load_.bad += bad;
}

bool slot_scaling::sample(time_point now, uint32_t slots_in_service) {
  next_sample_ = now + spec_->window / autoscale_advice::samples;
  load_.gpus = slots_in_service;
  advisor_->add(now, std::exchange(load_, {}));
  return spec_->mode == autoscale_mode::apply && advisor_->advice().gpus != 0;
}

std::vector<service_change> slot_scaling::apply(
    const std::map<slot_id, std::span<const model_id>>& in_service) {
  std::vector<service_change> changes;
  auto wanted = advisor_->advice().gpus;
  for (; wanted > 0 && !scaled_out_.empty(); --wanted) {
    changes.push_back({*scaled_out_.begin(), true});
    scaled_out_.erase(scaled_out_.begin());
  }
  if (wanted >= 0) return changes;
  std::unordered_map<model_id, uint32_t> placements;  // slots in service with the model
  for (const auto& [id, models] : in_service)
    for (const auto m : models) ++placements[m];
  for (auto id = scalable_.rbegin(); wanted < 0 && id != scalable_.rend(); ++id) {
    const auto s = in_service.find(*id);
    if (s == in_service.end()) continue;
    if (std::any_of(s->second.begin(), s->second.end(), [&](model_id m) { return placements[m] < 2; }))
      continue;
    for (const auto m : s->second) --placements[m];
    changes.push_back({*id, false});
    scaled_out_.insert(*id);
    ++wanted;
  }
  return changes;
}

}  // namespace troupe
