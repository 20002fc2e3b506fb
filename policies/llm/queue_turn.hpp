// Order of waiting sequences of one priority.
#pragma once
#include "messages/common/time.hpp"

namespace troupe {

/// Started sequences come first, then sequences by the due time of their first token. A sequence without a
/// target counts as due `turn_patience` after its arrival.
inline constexpr duration turn_patience = 10s;

inline time_point queue_turn(time_point arrival, time_point due, bool started) {
  if (started) return long_ago;
  if (due != never) return due;
  return arrival >= never - turn_patience ? never : arrival + turn_patience;
}

}  // namespace troupe
