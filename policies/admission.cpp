#include "policies/admission.hpp"

#include <algorithm>

namespace troupe {

uint32_t admission::bound(time_point now, duration patience, uint32_t at_least) {
  if (now < bound_until_) return std::max(bound_, at_least);
  const double served = served_.rate(now).value_or(0), lost = lost_.rate(now).value_or(0);
  bound_until_ = std::max(now, std::min(served_.valid_until(), lost_.valid_until()));
  const bool overload = lost > tolerated * (served + lost);
  const double rows = served * to_seconds(std::max(patience, duration{0}));
  bound_ = overload && rows < 4e9 ? static_cast<uint32_t>(rows) : ~0u;
  return std::max(bound_, at_least);
}

}  // namespace troupe
