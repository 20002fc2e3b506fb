// How close schedulers come to the flat top that an autoscaler needs (Symphony §3.5): beyond its peak goodput
// stays, and below it GPUs are busy in proportion to the load.
#pragma once
#include <vector>

#include "tools/lab/results.hpp"

namespace troupe::lab {

/// Where the offered load is an axis, each point gets `of_peak`, its goodput over the peak of its case,
/// policy and other axes, which is the highest up to the first load of which more than 1 % ends badly, and,
/// up to the load that equals this peak, `busy_off_load`: the busy fraction of the GPUs less the load's
/// fraction of the peak.
void add_flat_top(const experiment& e, std::vector<point>& points);

}  // namespace troupe::lab
