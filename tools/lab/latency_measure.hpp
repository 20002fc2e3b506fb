// The latency of one LoRA operator or of one step of a model, in real time on all cores of this machine.
#pragma once
#include <string_view>
#include <vector>

#include "tools/lab/measures.hpp"

namespace troupe::lab {

/// The median of at least five runs, repeated for half a second, after one warm-up run. Quick: of five runs.
sample measure_step_latency(const scenario& s, std::string_view policy, bool quick);

void summarise_latencies(const std::vector<sample>& samples, point& out);

}  // namespace troupe::lab
