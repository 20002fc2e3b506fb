// The measure `scheduler`: requests a second through the scheduler's actors in real time.
#pragma once
#include "tools/lab/measures.hpp"

namespace troupe::lab {

/// Runs `troupe bench schedule` in a process of its own on `s.cores` cores, with the models, GPUs and SLO of
/// the scenario. All models must be alike. Throws std::runtime_error if it fails.
sample measure_scheduler(const scenario& s, const scheduling& how);

}  // namespace troupe::lab
