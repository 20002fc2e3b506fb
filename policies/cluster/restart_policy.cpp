#include "policies/cluster/restart_policy.hpp"

#include <algorithm>

namespace troupe {

time_point restart_policy::died(time_point now) {
  while (!restarts_.empty() && restarts_.front() + options_.within <= now) restarts_.pop_front();
  if (restarts_.size() >= options_.max_restarts) return never;
  auto wait = options_.first;
  for (size_t i = 0; i < restarts_.size() && wait < options_.longest; ++i) wait *= 2;
  restarts_.push_back(now + std::min(wait, options_.longest));
  return restarts_.back();
}

}  // namespace troupe
