#include "policies/batching/learned_profile.hpp"

#include <algorithm>
#include <cassert>

namespace troupe {
namespace {

constexpr uint32_t remembered_batches = 16;
constexpr uint32_t remembered_arrivals = 64;
constexpr double least_variance = 0.25;  // of rows; with less, a slope says nothing

duration whole(double ns) { return duration(static_cast<duration::rep>(ns)); }

}  // namespace

void learned_profile::arrive() {
  if (++arrivals_ >= remembered_arrivals) *this = learned_profile(max_);
}

void learned_profile::add(uint32_t rows, duration took) {
  const auto ran = ran_;
  if (ran == 1) *this = learned_profile(max_);
  ran_ = std::min(ran + 1, 2u);
  arrivals_ = 0;
  batches_ = std::min(batches_ + 1, remembered_batches);
  const double share = 1.0 / batches_;
  const double r = rows - rows_, t = static_cast<double>(took.count()) - took_;
  rows_ += share * r;
  took_ += share * t;
  var_ = (1 - share) * (var_ + share * r * r);
  cov_ = (1 - share) * (cov_ + share * r * t);
}

latency_model learned_profile::latency() const {
  assert(knows());
  const double proportional = took_ / rows_;
  const double slope = var_ < least_variance ? proportional : std::clamp(cov_ / var_, 0.0, proportional);
  const double alone = took_ - slope * (rows_ - 1);
  const double scale = std::min(1.0, static_cast<double>(max_.count()) / std::max(alone, 1.0));
  return {whole(scale * slope), whole(scale * (alone - slope))};
}

}  // namespace troupe
