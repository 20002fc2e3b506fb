// The arbiter's advice on how many slots the load needs (policies/autoscale_advice.hpp), and how it follows
// it.
#include <algorithm>
#include <vector>

#include "actors/rank_arbiter.hpp"

namespace troupe {

uint32_t rank_arbiter::in_service() const {
  const auto out = std::count_if(out_.begin(), out_.end(), [&](slot_id id) { return slots_.contains(id); });
  return static_cast<uint32_t>(slots_.size()) - static_cast<uint32_t>(out);
}

/// What an earlier life or tenure saw is about another load; who may not grant sees none.
void rank_arbiter::begin_advice() {
  advisor_.reset();
  load_ = {};
  next_sample_ = never;
  if (!autoscale_ || !open_) return;
  const auto most = autoscale_->most_gpus == 0 ? ~0u : autoscale_->most_gpus;
  advisor_.emplace(
      autoscale_parameters{autoscale_->bad_rate, autoscale_->reserve, autoscale_->least_gpus, most});
  next_sample_ = time_point{};
}

void rank_arbiter::take_sample(time_point now) {
  next_sample_ = now + autoscale_->window / autoscale_advice::samples;
  load_.gpus = in_service();
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
  for (auto id = scalable_.rbegin(); wanted < 0 && id != scalable_.rend(); ++id) {
    const auto s = slots_.find(*id);
    if (s == slots_.end() || out_.contains(*id) || !spares(*id, s->second)) continue;
    set_service(*id, false, now);
    scaled_out_.insert(*id);
    ++wanted;
  }
}

/// Every model of the slot has another one.
bool rank_arbiter::spares(slot_id id, const slot& s) const {
  return std::ranges::all_of(s.models, [&](model_id m) {
    return std::ranges::any_of(slots_, [&](const auto& other) {
      return other.first != id && !out_.contains(other.first) &&
             std::ranges::find(other.second.models, m) != other.second.models.end();
    });
  });
}

}  // namespace troupe
