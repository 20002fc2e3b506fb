// Spin budget: whether a thread that waits for events should spin before it sleeps. Pure.
#pragma once
#include <cstdint>

#include "messages/common/time.hpp"

namespace troupe {

/// Spinning saves a wake-up if the next event is near, and costs its whole time if not. It pays off while the
/// mean gap between events is at most `worth_gaps` times the spin time: about one wait in so many, or more,
/// then ends while the thread spins. The mean is exponential over about `window` events and includes the long
/// gaps: a burst of a few events after a long rest does not begin to spin.
class spin_budget {
 public:
  static constexpr int worth_gaps = 8;
  static constexpr int window = 16;

  /// `spin`: the longest time to spin; 0 = never spin.
  explicit spin_budget(duration spin) : spin_(spin), mean_gap_(worth_gaps * spin + 1ns) {}

  /// `events` came since the last call. `now` does not go back.
  void add(uint32_t events, time_point now) {
    if (events == 0) return;
    if (last_ != never) {
      const auto gap = (now - last_) / events;
      mean_gap_ += (gap - mean_gap_) * (events < window ? static_cast<int>(events) : window) / window;
    }
    last_ = now;
  }

  /// Time to spin from the last event on.
  duration allowed() const { return mean_gap_ <= worth_gaps * spin_ ? spin_ : duration{}; }

 private:
  duration spin_, mean_gap_;
  time_point last_ = never;
};

}  // namespace troupe
