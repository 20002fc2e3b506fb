// Latency of the data lane between actors: two actors in two processes, each on its own CAF host, exchange
// one message. A part of `troupe bench fabric`.
#pragma once

namespace troupe {

/// The peer of the measurement; runs until its socket closes.
void run_far_lane(int fd);

/// One-way latency from actor to actor in microseconds: half the median round trip.
struct lane_latency {
  double idle = 0;          ///< sent a millisecond after the last answer, when all threads sleep
  double back_to_back = 0;  ///< sent immediately after it
};
/// `fd`: socket to a process in `run_far_lane`.
lane_latency measure_lane(int fd);

}  // namespace troupe
