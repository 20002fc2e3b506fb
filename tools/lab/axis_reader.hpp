// Reads the varied parameters of an experiment: [[axis]] tables, and the values of [[case]] tables that
// replace them.
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
  std::vector<section*> tables;  ///< of each axis
  bool complete = true;          ///< false: an axis has an unknown parameter
};

/// A parameter that the measure ignores is a problem.
axes_reading read_axes(section& root, measure what, std::span<const std::string> policies);

/// An array of different values of the parameter; empty after a problem, or if it is absent or empty.
std::vector<double> read_values(section& s, std::string_view key, const parameter& p);

}  // namespace troupe::lab
