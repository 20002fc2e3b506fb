#include "transport/data_lane/clock_offset.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>

namespace troupe {
namespace {

/// Far beyond any clock (36 years), and small enough that no sum below overflows.
constexpr duration largest = duration{int64_t{1} << 60};

bool plausible(time_point t) { return t.time_since_epoch() < largest && t.time_since_epoch() > -largest; }

}  // namespace

bool clock_offset::add(const clock_sample& s) {
  for (const auto t : {s.sent, s.received, s.replied, s.returned})
    if (!plausible(t)) return false;
  const duration away = s.returned - s.sent, there = s.replied - s.received;
  if (there < duration{} || away < there) return false;

  const estimate fresh{(s.received - s.sent) / 2 + (s.replied - s.returned) / 2,
                       (away - there) / 2 + duration{1}, s.returned};
  const duration bound = error(s.returned);
  const bool contradicts = best_ && std::chrono::abs(fresh.offset - best_->offset) - bound > fresh.bound;
  if (!best_ || contradicts || fresh.bound <= bound) best_ = fresh;
  return true;
}

duration clock_offset::error(time_point now) const {
  if (!best_) return duration::max();
  const auto age = std::max(now - best_->made_at, duration{});
  return best_->bound + duration{std::llround(drift_ * static_cast<double>(age.count()))};
}

}  // namespace troupe
