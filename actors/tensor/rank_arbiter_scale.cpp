// The arbiter's advice on how many slots the load needs (policies/scaling/autoscale_advice.hpp), and how it
// follows it.
#include <algorithm>
#include <unordered_map>

#include "actors/tensor/rank_arbiter.hpp"

namespace troupe {

/// To be called when a slot came, went, or was taken out or back.
void rank_arbiter::count_service() {
  const auto out = std::count_if(out_.begin(), out_.end(), [&](slot_id id) { return slots_.contains(id); });
  in_service_ = static_cast<uint32_t>(slots_.size()) - static_cast<uint32_t>(out);
}

/// What an earlier incarnation or term saw is about another load; who may not grant sees none.
void rank_arbiter::begin_advice() {
  advisor_.reset();
  load_ = {};
  next_sample_ = never;
  if (!autoscale_ || !open_) return;
  const auto max_gpus = autoscale_->max_gpus == 0 ? ~0u : autoscale_->max_gpus;
  advisor_.emplace(
      autoscale_parameters{autoscale_->bad_rate, autoscale_->reserve, autoscale_->min_gpus, max_gpus});
  next_sample_ = time_point{};
}

void rank_arbiter::take_sample(time_point now) {
  next_sample_ = now + autoscale_->window / autoscale_advice::samples;
  load_.gpus = in_service_;
  advisor_->add(now, std::exchange(load_, {}));
  if (autoscale_->mode == autoscale_mode::apply) apply_advice(now);
}

/// The lowest slots first in, the highest first out: those are idle first, as the lowest free one is granted
/// first. A slot that is out is granted no more; what it has ends as usual.
void rank_arbiter::apply_advice(time_point now) {
  auto wanted = advisor_->advice().gpus;
  for (; wanted > 0 && !scaled_out_.empty(); --wanted) {
    const auto lowest = *scaled_out_.begin();
    scaled_out_.erase(scaled_out_.begin());
    set_service(lowest, true, now);
  }
  if (wanted >= 0) return;
  std::unordered_map<model_id, uint32_t> placements;  // slots in service that have the model
  for (const auto& [id, s] : slots_)
    if (!out_.contains(id))
      for (const auto m : s.models) ++placements[m];
  for (auto id = scalable_.rbegin(); wanted < 0 && id != scalable_.rend(); ++id) {
    const auto s = slots_.find(*id);
    if (s == slots_.end() || out_.contains(*id)) continue;
    const auto& models = s->second.models;
    if (std::ranges::any_of(models, [&](model_id m) { return placements[m] < 2; }))
      continue;  // its last placement
    for (const auto m : models) --placements[m];
    set_service(*id, false, now);
    scaled_out_.insert(*id);
    ++wanted;
  }
}

}  // namespace troupe
