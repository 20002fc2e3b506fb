// Time points of tests.
#pragma once
#include "messages/common/time.hpp"

namespace troupe::test {

/// Time point at t milliseconds of the clock.
constexpr time_point ms(double t) { return time_point{from_ms(t)}; }

/// A start time of a clock that has run for a while.
inline constexpr time_point the_start{1h};
constexpr time_point at(duration d) { return the_start + d; }

}  // namespace troupe::test
