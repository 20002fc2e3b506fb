// How far a peer's clock is ahead of ours, from heartbeats (the estimate of NTP: Mills, RFC 5905 §8).
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

/// The offset is known to half the round trip of the sample that it comes from, and worse as that ages and
/// the clocks drift apart. Every sample ages alike, so it suffices to keep the one with the smallest bound: a
/// heartbeat replaces it when it knows better, or when it contradicts it (a clock was stepped after all).
class clock_offset {
 public:
  /// `drift`: how fast the two clocks may drift apart, as a fraction.
  explicit clock_offset(double drift = 200e-6) : drift_(drift) {}

  /// False if no two clocks can have measured this; it is ignored.
  bool add(const clock_sample& s);

  bool known() const { return best_.has_value(); }
  /// Peer's clock minus ours; 0 while unknown.
  duration offset() const { return best_ ? best_->offset : duration{}; }
  /// How wrong `offset` can be at `now`; the largest duration while unknown.
  duration error(time_point now) const;

  /// What, added to a peer's time (shift_times.hpp), gives the earliest that it can be on our clock: a
  /// deadline so converted is never later than meant. 0 while unknown.
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
