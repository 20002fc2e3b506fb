// Saturating arithmetic on times that may be `never` or `long_ago`.
#pragma once
#include "messages/common/time.hpp"

namespace troupe {

constexpr time_point saturating_subtract(time_point t, duration d) {
  if (t == never || t == long_ago) return t;
  duration::rep r = 0;
  if (__builtin_sub_overflow(t.time_since_epoch().count(), d.count(), &r))
    return d > duration{} ? long_ago : never;
  return time_point{duration{r}};
}

constexpr duration saturating_difference(time_point later, time_point earlier) {
  const auto a = later.time_since_epoch().count(), b = earlier.time_since_epoch().count();
  duration::rep r = 0;
  if (__builtin_sub_overflow(a, b, &r)) return a > b ? duration::max() : duration::min();
  return duration{r};
}

}  // namespace troupe
