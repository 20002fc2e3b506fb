// Offset of a peer's clock, estimated from heartbeats as in NTP (Mills, RFC 5905 §8).
#pragma once
#include <optional>

#include "messages/common/time.hpp"

namespace troupe {

/// One heartbeat and its answer.
struct clock_sample {
  time_point sent;      ///< by us, on our clock
  time_point received;  ///< by the peer, on its clock
  time_point replied;   ///< by the peer, on its clock
  time_point returned;  ///< to us, on our clock
};

/// The error of an offset is half the round trip of its sample, and grows with the sample's age by the
/// possible drift. All samples age equally, so it suffices to keep the one with the smallest bound. A
/// heartbeat replaces it if its bound is smaller, or if it contradicts the kept one (a clock was stepped
/// after all).
class clock_offset {
 public:
  /// `drift`: how fast the two clocks may drift apart, as a fraction.
  explicit clock_offset(double drift = 200e-6) : drift_(drift) {}

  /// False if the sample is impossible; it is ignored.
  bool add(const clock_sample& s);

  bool known() const { return best_.has_value(); }
  /// Peer's clock minus ours; 0 while unknown.
  duration offset() const { return best_ ? best_->offset : duration{}; }
  /// Bound of the error of `offset` at `now`; the largest duration while unknown.
  duration error(time_point now) const;

  /// Correction to add to a peer's time (shift_times.hpp). It gives the earliest possible time on our clock,
  /// so a converted deadline is never too late. 0 while unknown.
  duration shift(time_point now) const { return best_ ? -best_->offset - error(now) : duration{}; }

 private:
  struct estimate {
    duration offset;
    duration bound;  ///< at `made_at`
    time_point made_at;
  };

  double drift_;
  std::optional<estimate> best_;
};

}  // namespace troupe
