// The data lane as actors see it: two actors in two processes, each on a CAF host of its own, send one
// message to and fro. A part of `troupe bench fabric`.
#pragma once

namespace troupe {

/// The process that is measured against; until its socket closes.
void run_far_lane(int fd);

/// Microseconds from actor to actor, one way: half the median round trip.
struct lane_latency {
  double idle = 0;          ///< a millisecond after the answer before, when all threads have gone to sleep
  double back_to_back = 0;  ///< at once after it
};
/// `fd`: to a `run_far_lane`.
lane_latency measure_lane(int fd);

}  // namespace troupe
