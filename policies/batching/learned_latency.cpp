#include "policies/batching/learned_latency.hpp"

#include <algorithm>
#include <bit>

namespace troupe {

void learned_latency::add(uint64_t bytes, duration took) {
  auto& own = classes_[static_cast<size_t>(std::bit_width(bytes))];
  own.ran_at = arrivals_;
  own.average = own.average ? *own.average + (took - *own.average) / share_of_latest : took;
}

latency_model learned_latency::latency() const { return slowest_of(classes_.size()); }

latency_model learned_latency::latency_of(uint64_t bytes) const {
  return slowest_of(static_cast<size_t>(std::bit_width(bytes)) + 1);
}

latency_model learned_latency::slowest_of(size_t first_classes) const {
  std::optional<duration> slowest;
  for (size_t i = 0; i < first_classes; ++i)
    if (const auto& c = classes_[i]; c.average && arrivals_ - c.ran_at < remembered)
      slowest = std::max(slowest.value_or(duration{}), *c.average);
  return {duration{}, std::min(slowest.value_or(before_any), max_)};
}

}  // namespace troupe
