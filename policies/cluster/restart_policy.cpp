#include "policies/cluster/restart_policy.hpp"

#include <algorithm>

namespace troupe {

time_point restart_policy::died(time_point started, time_point now) {
  if (now - started >= options_.steady) deaths_ = 0;
  ++deaths_;
  if (options_.give_up_after != 0 && deaths_ >= options_.give_up_after) return never;
  auto delay = options_.first;
  for (uint32_t i = 1; i < deaths_ && delay < options_.max_delay; ++i) delay *= 2;
  return now + std::min(delay, options_.max_delay);
}

}  // namespace troupe
