// Log of refused connections: once a second at most, so that refused peers cannot fill the log.
#pragma once
#include <spdlog/spdlog.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "messages/common/time.hpp"

namespace troupe {

/// Used by one thread at a time.
class refused_connections {
 public:
  /// `event`: its name in the log. `time` outlives it.
  refused_connections(std::string_view event, const clock& time) : event_(event), time_(time) {}

  void add(const std::string& from, const std::string& why) {
    ++count_;
    const auto now = time_.now();
    if (now < logged_ + 1s) return;
    logged_ = now;
    spdlog::warn("event={} from={} reason=\"{}\" count={}", event_, from, why, std::exchange(count_, 0));
  }

 private:
  const std::string event_;
  const clock& time_;
  uint64_t count_ = 0;  ///< since the last line
  time_point logged_ = long_ago;
};

}  // namespace troupe
