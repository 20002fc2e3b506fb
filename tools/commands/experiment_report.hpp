// Experiment results for people: the points as a table, and the verdict on the paper's claims.
#pragma once
#include <string>

#include "tools/lab/results.hpp"

namespace troupe {

std::string experiment_report(const lab::results& r);

}  // namespace troupe
