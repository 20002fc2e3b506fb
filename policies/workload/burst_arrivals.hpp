// Open-loop arrivals in bursts with pauses between them. A renewal process, however wide its gaps are spread,
// has no such bursts: gaps of one scale do not come one after the other.
#pragma once
#include <cstdint>

#include "messages/common/time.hpp"
#include "policies/common/random.hpp"

namespace troupe {

struct burst_spec {
  double requests = 1;     ///< mean of a burst; gamma-distributed, rounded up
  double requests_cv = 1;  ///< standard deviation over mean, > 0
  duration gap{};          ///< mean within bursts
  /// A burst has a mean gap of its own, log-normal with this standard deviation of the logarithm. Its gaps
  /// are exponential.
  double gap_sigma = 0;
  duration min_pause{};  ///< of every pause; the rest of it is gamma-distributed
  duration pause{};      ///< mean of whole pauses, > min_pause
  double pause_cv = 1;   ///< standard deviation over mean, of whole pauses

  /// A second, in the long run. Inexact for bursts of one or two requests, which are rounded up.
  double rate() const;
  /// With `factor` times the rate: bursts and pauses at the same times, with more or fewer requests in a
  /// burst. Bursts of fewer than ten do not become smaller; the pauses become longer instead.
  burst_spec denser(double factor) const;
};

/// Ascending arrival times, determined by the spec and the random stream.
class burst_arrivals {
 public:
  burst_arrivals(const burst_spec& spec, time_point start, random_stream random);
  time_point next();

 private:
  void begin_burst();

  burst_spec spec_;
  random_stream random_;
  time_point next_;
  uint64_t left_ = 0;    ///< of this burst
  double mean_gap_ = 0;  ///< likewise; in nanoseconds
};

}  // namespace troupe
