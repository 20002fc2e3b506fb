#include "policies/scaling/autoscale_advice.hpp"

#include <algorithm>
#include <cmath>

namespace troupe {
namespace {

/// If nearly all requests of a sample fail, the size of the excess is unknown.
constexpr double max_bad_rate = 0.8;
/// A load below this fraction counts as a different load.
constexpr double lower = 0.9;

double rate(uint64_t good, uint64_t bad) {
  return good + bad == 0 ? 0 : static_cast<double>(bad) / static_cast<double>(good + bad);
}

}  // namespace

const scale_advice& autoscale_advice::add(time_point now, const load_sample& s) {
  const auto length = last_ ? now - *last_ : duration{};
  last_ = now;
  if (s.gpus != gpus_ || length <= duration{}) {
    begin_anew(s.gpus);
    return advice_;
  }
  if (window_.size() == samples) window_.erase(window_.begin());
  window_.push_back({to_seconds(s.busy) / to_seconds(length), s.good, s.bad});

  advice_ = {};
  advice_.bad_rate = bad_rate_of(2);
  advice_.idle = gpus_ == 0 ? 0 : std::max(0.0, 1 - peak() / gpus_);
  const auto grow = more();
  advice_.gpus = grow > 0 ? grow : -fewer();
  if (grow > 0) {
    too_few_ = gpus_;
    too_few_at_ = given_up_at_ ? std::min(*given_up_at_, peak()) : peak();
  } else if (window_.size() == samples && bad_rate_of(samples) <= parameters_.bad_rate) {
    given_up_at_.reset();  // the smaller number was sufficient
  }
  return advice_;
}

double autoscale_advice::bad_rate_of(size_t last) const {
  uint64_t good = 0, bad = 0;
  for (auto i = window_.size() - std::min(last, window_.size()); i < window_.size(); ++i) {
    good += window_[i].good;
    bad += window_[i].bad;
  }
  return rate(good, bad);
}

double autoscale_advice::peak() const {
  double max = 0;
  for (const auto& s : window_) max = std::max(max, s.busy);
  return max;
}

void autoscale_advice::begin_anew(uint32_t gpus) {
  given_up_at_.reset();
  if (gpus < gpus_) given_up_at_ = peak();
  gpus_ = gpus;
  window_.clear();
  advice_ = {};
}

int32_t autoscale_advice::more() const {
  if (gpus_ < parameters_.min_gpus) return static_cast<int32_t>(parameters_.min_gpus - gpus_);
  const auto too_bad = [&](const sample& s) { return rate(s.good, s.bad) > parameters_.bad_rate; };
  const auto n = window_.size();
  if (n < 2 || !too_bad(window_[n - 1]) || !too_bad(window_[n - 2])) return 0;
  const double r = std::min(advice_.bad_rate, max_bad_rate);
  const auto wanted = static_cast<uint32_t>(std::ceil(std::max(1u, gpus_) * r / (1 - r) - 1e-9));
  const auto room = parameters_.max_gpus > gpus_ ? parameters_.max_gpus - gpus_ : 0;
  return static_cast<int32_t>(std::min(wanted, room));
}

int32_t autoscale_advice::fewer() const {
  if (gpus_ > parameters_.max_gpus) return static_cast<int32_t>(gpus_ - parameters_.max_gpus);
  if (window_.size() < samples || bad_rate_of(samples) > parameters_.bad_rate) return 0;
  const double busy = peak();
  auto keep =
      std::max(parameters_.min_gpus, static_cast<uint32_t>(std::ceil(busy * (1 + parameters_.reserve))));
  if (too_few_ && busy > lower * too_few_at_) keep = std::max(keep, *too_few_ + 1);
  return keep < gpus_ ? static_cast<int32_t>(gpus_ - keep) : 0;
}

}  // namespace troupe
