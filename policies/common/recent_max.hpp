// The largest of the recent values.
#pragma once
#include <algorithm>
#include <cstdint>

#include "messages/common/time.hpp"

namespace troupe {

/// Of this window and the one before it: a value counts for one to two windows. Time must not go back.
class recent_max {
 public:
  explicit recent_max(duration window) : window_(window) {}

  void add(time_point now, uint32_t value) {
    advance(now);
    current_ = std::max(current_, value);
  }
  /// 0: there is none.
  uint32_t get(time_point now) {
    advance(now);
    return std::max(former_, current_);
  }

 private:
  void advance(time_point now) {
    if (now < ends_) return;
    former_ = now < ends_ + window_ ? current_ : 0;
    current_ = 0;
    ends_ = now + window_;
  }

  duration window_;
  uint32_t former_ = 0, current_ = 0;
  time_point ends_ = long_ago;
};

}  // namespace troupe
