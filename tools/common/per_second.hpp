// Rates from a client's counters.
#pragma once
#include <cstdint>

#include "messages/common/time.hpp"

namespace troupe {

/// 0 if `length` is 0.
inline double per_second(uint64_t n, duration length) {
  return length > duration{} ? static_cast<double>(n) / to_seconds(length) : 0;
}

}  // namespace troupe
