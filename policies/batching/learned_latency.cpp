#include "policies/batching/learned_latency.hpp"

#include <algorithm>
#include <bit>

namespace troupe {

void learned_latency::add(uint64_t bytes, duration took) {
  auto& own = classes_[static_cast<size_t>(std::bit_width(bytes))];
  own.ran_at = arrivals_;
  own.average = own.average ? *own.average + (took - *own.average) / share_of_latest : took;
}

latency_model learned_latency::latency() const {
  std::optional<duration> slowest;
  for (const auto& c : classes_)
    if (c.average && arrivals_ - c.ran_at < remembered)
      slowest = std::max(slowest.value_or(duration{}), *c.average);
  return {duration{}, std::min(slowest.value_or(before_any), max_)};
}

}  // namespace troupe
