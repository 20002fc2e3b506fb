// Time points, durations and clocks. Durations are in nanoseconds.
#pragma once
#include <chrono>
#include <cstdint>

namespace troupe {

using duration = std::chrono::nanoseconds;
using namespace std::chrono_literals;

/// The clock of one node: steady, with an epoch of its own. It has no `now()`: parts read time from the
/// `clock` that they were given, so that they also run in simulation. A `time_point` in a message is the
/// sender's; the data lane converts it on receipt (transport/data_lane/data_lane.hpp).
struct node_clock {
  using duration = troupe::duration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<node_clock, duration>;
  static constexpr bool is_steady = true;
};
using time_point = node_clock::time_point;

inline constexpr time_point never = time_point::max();  ///< later than everything; no conversion changes it
inline constexpr time_point long_ago = time_point::min();  ///< earlier than everything; likewise

/// Source of time.
class clock {
 public:
  virtual ~clock() = default;
  virtual time_point now() const = 0;
};

/// The machine's steady clock, shifted by `offset` (tests start nodes hours apart).
class machine_clock final : public clock {
 public:
  explicit machine_clock(duration offset = {}) : offset_(offset) {}
  time_point now() const override {
    return time_point{std::chrono::steady_clock::now().time_since_epoch() + offset_};
  }

 private:
  duration offset_;
};

constexpr double to_ms(duration d) { return std::chrono::duration<double, std::milli>(d).count(); }
constexpr double to_seconds(duration d) { return std::chrono::duration<double>(d).count(); }
constexpr duration from_ms(double ms) {
  return duration{static_cast<int64_t>(ms * 1e6 + (ms < 0 ? -0.5 : 0.5))};
}

}  // namespace troupe
