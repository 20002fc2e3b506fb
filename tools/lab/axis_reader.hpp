// Reads what an experiment varies: [[axis]], and what cases have instead of its values.
#pragma once
#include <span>
#include <string>
#include <vector>

#include "config/reader.hpp"
#include "tools/lab/experiment.hpp"
#include "tools/lab/parameter.hpp"

namespace troupe::lab {

struct axes_reading {
  std::vector<axis> axes;
  std::vector<section*> tables;  ///< of each
  bool complete = true;          ///< false: one has a parameter that is not known
};

/// What the measure takes no notice of is a problem.
axes_reading read_axes(section& root, measure what, std::span<const std::string> policies);

/// An array of different values of the parameter; empty after a problem, or if it is absent or empty.
std::vector<double> read_values(section& s, std::string_view key, const parameter& p);

}  // namespace troupe::lab
