// What people read of an experiment's results: its points as a table, and how the paper's claims fare.
#pragma once
#include <string>

#include "tools/lab/results.hpp"

namespace troupe {

std::string experiment_report(const lab::results& r);

}  // namespace troupe
