// A changing load like that of many cameras: days of different phase, noise, and a rush.
#pragma once
#include "tools/lab/scenario.hpp"

namespace troupe::lab {

/// One change every step, with a factor for each model. Without the rush, the mean of a model's factors is
/// about 1. Deterministic.
std::vector<load_change> changes_of(const changing_load& load, size_t models);

}  // namespace troupe::lab
