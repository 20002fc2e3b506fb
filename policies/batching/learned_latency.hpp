// The latency of requests that run alone, with shapes of their own, so that no measurement before them tells
// it: learnt from those that ran, by class of size. Pure.
#pragma once
#include <array>
#include <cstdint>
#include <optional>

#include "messages/common/time.hpp"
#include "messages/tensor/latency.hpp"

namespace troupe {

/// Requests with the same number of input bytes, rounded down to a power of two, are a class. Each class
/// keeps a moving average of its durations. The latency is that of the slowest class, so that plans leave
/// room for it. A class that did not run during the latest arrivals does not count: otherwise a slow request
/// could make the queue refuse all others, and nothing would be learnt any more.
class learned_latency {
 public:
  /// `max`: no estimate is longer.
  explicit learned_latency(duration max) : max_(max) {}

  /// A request of `bytes` has run.
  void add(uint64_t bytes, duration took);
  /// A request has arrived.
  void arrive() { ++arrivals_; }

  latency_model latency() const;
  /// Of a request of so many bytes: that of the slowest class up to its own; a millisecond if none is known.
  latency_model latency_of(uint64_t bytes) const;

 private:
  struct size_class {
    std::optional<duration> average;
    uint64_t ran_at = 0;  // in arrivals
  };
  latency_model slowest_of(size_t first_classes) const;

  static constexpr duration before_any = 1ms;
  static constexpr uint64_t remembered = 64;     // arrivals
  static constexpr int64_t share_of_latest = 4;  // the latest request counts for 1 in so many

  duration max_;
  uint64_t arrivals_ = 0;
  std::array<size_class, 65> classes_{};  // by bit width of the bytes
};

}  // namespace troupe
