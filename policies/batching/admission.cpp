#include "policies/batching/admission.hpp"

#include <algorithm>

namespace troupe {

void admission::served(time_point now, uint32_t rows) {
  served_.count(now, rows);
  largest_.add(now, rows);
}

uint32_t admission::bound(time_point now, duration patience, uint32_t batch, uint32_t slots) {
  const uint32_t at_least =
      queues_ == 1 ? (slots + 1) * batch : (slots + queues_) / queues_ * std::max(batch, largest_.get(now));
  if (now < bound_until_) return std::max(bound_, at_least);
  const double served = served_.rate(now).value_or(0), lost = lost_.rate(now).value_or(0);
  bound_until_ = std::max(now, std::min(served_.valid_until(), lost_.valid_until()));
  const bool overload = lost > tolerated * (served + lost);
  const double rows = std::max(0.0, served * to_seconds(patience) - batch);
  bound_ = overload && rows < 4e9 ? static_cast<uint32_t>(rows) : ~0u;
  return std::max(bound_, at_least);
}

}  // namespace troupe
