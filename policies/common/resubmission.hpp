// When a request is submitted again whose bytes were lost between two living nodes. Pure.
#pragma once
#include <algorithm>
#include <cstdint>
#include <optional>

#include "messages/common/time.hpp"

namespace troupe {

/// `losses`: how often that happened to it before. At once the first time, then after pauses that double up
/// to half a second: the connection between the nodes may be broken, and heals when one of them has joined
/// again. Nothing if it could not begin before its deadline.
inline std::optional<time_point> resubmission_time(uint32_t losses, time_point now, time_point deadline) {
  constexpr duration first = 20ms, longest = 500ms;
  const auto pause =
      losses == 0 ? duration{} : std::min<duration>(first * (1 << std::min(losses - 1, 5u)), longest);
  const auto due = now + pause;
  return due < deadline ? std::optional(due) : std::nullopt;
}

}  // namespace troupe
