// How many requests a second the scheduler's actors handle in real time.
#pragma once
#include "tools/lab/measures.hpp"

namespace troupe::lab {

/// Runs `troupe bench schedule` of this program, in a process of its own on `s.cores` cores, with the models,
/// GPUs and SLO of the scenario, whose models must all be alike. Throws std::runtime_error if it fails.
sample measure_scheduler(const scenario& s, const scheduling& how);

}  // namespace troupe::lab
