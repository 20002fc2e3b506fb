// One direction of an emulated network interface: it moves the bytes of one pull after another, at its rate.
// Pure.
#pragma once
#include <cmath>
#include <cstdint>

#include "messages/common/time.hpp"

namespace troupe {

class paced_interface {
 public:
  /// A shorter pause between two pulls is the delay of the message or the timer between them, not idleness,
  /// and costs no rate.
  static constexpr duration max_pause = 2ms;

  /// `gbit_per_s` is positive.
  explicit paced_interface(double gbit_per_s) : ns_per_byte_(8 / gbit_per_s) {}

  /// Reserves the next free time for these bytes; returns its end. Calls come in the order of `now`.
  time_point reserve(uint64_t bytes, time_point now) {
    if (free_ + max_pause < now) free_ = now;
    const auto end = free_ + duration{std::llround(static_cast<double>(bytes) * ns_per_byte_)};
    return free_ = end;
  }

 private:
  double ns_per_byte_;
  time_point free_ = long_ago;  ///< when it has moved all bytes so far
};

}  // namespace troupe
