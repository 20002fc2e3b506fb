// A load that changes as the requests of many cameras do: days of different phase, noise, and a rush.
#pragma once
#include "tools/lab/scenario.hpp"

namespace troupe::lab {

/// One change every step, each with a factor for each model. The mean of a model's factors is about 1 without
/// the rush. The same for the same load.
std::vector<load_change> changes_of(const changing_load& load, size_t models);

}  // namespace troupe::lab
