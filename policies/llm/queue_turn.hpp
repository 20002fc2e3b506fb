// Whose turn it is among sequences of one priority.
#pragma once
#include "messages/common/time.hpp"

namespace troupe {

/// A sequence that has begun goes on before others begin. Then by when the first token is due; without a
/// target as if it were so long after the arrival.
inline constexpr duration turn_patience = 10s;

inline time_point queue_turn(time_point arrival, time_point due, bool started) {
  if (started) return long_ago;
  if (due != never) return due;
  return arrival >= never - turn_patience ? never : arrival + turn_patience;
}

}  // namespace troupe
