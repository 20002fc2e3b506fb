// The clock of a simulated node, with its own epoch and drift.
#pragma once
#include <cstdint>

#include "messages/common/time.hpp"

namespace troupe::sim {

/// Follows `truth`, which must outlive the clock. The arithmetic is exact to the nanosecond, and the clock
/// never goes back.
class sim_clock final : public clock {
 public:
  sim_clock(const duration& truth, duration offset, double drift_ppm)
      : truth_(truth), local_(offset), drift_ppb_(to_ppb(drift_ppm)) {}

  time_point now() const override { return time_point{local_ + run(truth_ - since_)}; }

  /// The first true time at which `now()` is `t` or later, if the drift does not change.
  duration true_time(time_point t) const {
    const auto wanted = t.time_since_epoch() - local_;
    if (wanted <= duration{0}) return since_;
    const auto guess = static_cast<__int128>(wanted.count()) * billion / (billion + drift_ppb_);
    auto at = duration{static_cast<int64_t>(guess)};
    while (run(at) < wanted) ++at;
    return since_ + at;
  }

  void add_drift(double ppm) {
    local_ = now().time_since_epoch();
    since_ = truth_;
    drift_ppb_ += to_ppb(ppm);
  }

 private:
  static constexpr int64_t billion = 1'000'000'000;
  static int64_t to_ppb(double ppm) { return static_cast<int64_t>(ppm * 1000); }
  duration run(duration truth) const {
    const auto more = static_cast<__int128>(truth.count()) * drift_ppb_ / billion;
    return truth + duration{static_cast<int64_t>(more)};
  }

  const duration& truth_;
  duration since_{};  ///< true time at which the clock read `local_`
  duration local_;
  int64_t drift_ppb_;
};

}  // namespace troupe::sim
