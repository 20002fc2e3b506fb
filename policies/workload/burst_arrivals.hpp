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
  double gap_sigma =
      0;  ///< standard deviation of the logarithm of a burst's own mean gap; its gaps are exponential
  duration min_pause{};  ///< pauses are so long, and gamma-distributed beyond it
  duration pause{};      ///< mean, > min_pause
  double pause_cv = 1;   ///< standard deviation over mean, of all of the pause

  /// A second, in the long run.
  double rate() const;
  /// With bursts and pauses at the same times, and `factor` times as many requests in a burst.
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
