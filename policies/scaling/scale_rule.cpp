#include "policies/scaling/scale_rule.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace troupe {
namespace {

/// Arrivals below this fraction of others count as fewer.
constexpr double fewer_arrivals = 0.9;

/// As long as the default of Kubernetes' horizontal autoscaler before it scales down.
constexpr duration longest_calm = 5min;

/// Instances of which each takes this much of the demand.
uint32_t instances_of(double demand, double each) {
  constexpr double max = 1 << 20, rounding = 1e-9;
  return static_cast<uint32_t>(std::min(max, std::ceil(demand / each - rounding)));
}

}  // namespace

std::string_view to_string(scale_reason r) {
  constexpr std::array<std::string_view, scale_reason_count> names{"enough",     "above",   "below",
                                                                   "below_soon", "too_few", "unmeasured"};
  return names[static_cast<size_t>(r)];
}

std::optional<instance_range> instances_for(const resource_load& load) {
  if (load.demand <= 0) return instance_range{};
  if (load.of_instance <= 0) return {};
  return instance_range{instances_of(load.demand, load.bounds.high * load.of_instance),
                        instances_of(load.demand, load.bounds.low * load.of_instance)};
}

scale_rule::decision scale_rule::decide(time_point now, std::span<const resource_load> loads, double arriving,
                                        uint32_t ordered) {
  if (ordered != ordered_) {
    ordered_ = ordered;
    most_arriving_ = 0;
    went_down_ = false;
    below_since_ = never;
  }
  most_arriving_ = std::max(most_arriving_, arriving);
  if (too_few_ && arriving > fewer_arrivals * too_few_->arriving)
    too_few_->fewer_since = never;
  else if (too_few_ && too_few_->fewer_since == never)
    too_few_->fewer_since = now;
  instance_range needed;
  bool all_measured = true;
  for (const auto& l : loads) {
    const auto of_one = instances_for(l);
    all_measured = all_measured && of_one;
    if (of_one) needed = {std::max(needed.min, of_one->min), std::max(needed.max, of_one->max)};
  }
  const auto limited = [&](uint32_t n) {
    return std::clamp(n, parameters_.min_instances, parameters_.max_instances);
  };
  const decision d{ordered, {limited(needed.min), limited(needed.max)}, scale_reason::enough};
  if (d.needed.min > ordered) return more(d, now);
  if (all_measured && d.needed.max < ordered) return fewer(d, now);
  below_since_ = never;
  return {ordered, d.needed, all_measured ? scale_reason::enough : scale_reason::unmeasured};
}

scale_rule::decision scale_rule::more(const decision& d, time_point now) {
  if (went_down_) {
    const bool again = too_few_ && now - too_few_->at < 2 * longest_calm;
    const auto longest = std::max(longest_calm, parameters_.down_after);
    const auto calm = again ? std::min(2 * too_few_->calm, longest) : parameters_.down_after;
    too_few_ = {d.instances, most_arriving_, now, calm};
  }
  ordered_ = (d.needed.min + d.needed.max + 1) / 2;
  most_arriving_ = 0;
  went_down_ = false;
  below_since_ = never;
  return {*ordered_, d.needed, scale_reason::above};
}

scale_rule::decision scale_rule::fewer(const decision& d, time_point now) {
  if (below_since_ == never) below_since_ = now;
  if (proved_too_few(d.instances - 1, now)) return {d.instances, d.needed, scale_reason::too_few};
  if (now < below_since_ + parameters_.down_after) return {d.instances, d.needed, scale_reason::below_soon};
  ordered_ = d.instances - 1;
  most_arriving_ = 0;
  went_down_ = true;
  below_since_ = now;
  return {*ordered_, d.needed, scale_reason::below};
}

bool scale_rule::proved_too_few(uint32_t instances, time_point now) const {
  if (!too_few_ || instances > too_few_->instances) return false;
  return too_few_->fewer_since == never || now - too_few_->fewer_since < too_few_->calm;
}

}  // namespace troupe
