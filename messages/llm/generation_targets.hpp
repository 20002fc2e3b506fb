// Priority and latency targets of a generation request.
#pragma once
#include <cstdint>

#include "messages/common/time.hpp"

namespace troupe {

struct generation_targets {
  int32_t priority = 0;  ///< lower ones first
  duration ttft{};       ///< for the first token, from the arrival (time to first token); zero: none
  duration tpot{};       ///< for each further one, in the mean (time per output token); zero: none
  bool operator==(const generation_targets&) const = default;
};

}  // namespace troupe
