// How long one LoRA operator takes on this machine, or one step of a model: in real time, on all of its
// cores.
#pragma once
#include <string_view>
#include <vector>

#include "tools/lab/measures.hpp"

namespace troupe::lab {

/// The median of runs for half a second, at least five, after one that does not count; quick: of five.
sample measure_step_latency(const scenario& s, std::string_view policy, bool quick);

void summarise_latencies(const std::vector<sample>& samples, point& out);

}  // namespace troupe::lab
