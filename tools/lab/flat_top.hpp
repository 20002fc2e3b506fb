// Metrics of the flat-top property that an autoscaler needs (Symphony §3.5): beyond its peak goodput stays
// constant, and below it the busy time of GPUs is proportional to the load.
#pragma once
#include <vector>

#include "tools/lab/results.hpp"

namespace troupe::lab {

/// Where the offered load is an axis, each point gets `of_peak`: its goodput divided by the peak of its case,
/// policy and other axes. The peak is the highest goodput up to the first load with a bad rate over 1 %. Up
/// to the load that equals the peak, each point also gets `busy_off_load`: the busy fraction of the GPUs
/// minus the load's fraction of the peak.
void add_flat_top(const experiment& e, std::vector<point>& points);

}  // namespace troupe::lab
