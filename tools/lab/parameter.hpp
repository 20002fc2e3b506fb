// The parameters of a scenario that an experiment may vary, by name.
#pragma once
#include <span>
#include <string_view>

#include "tools/lab/scenario.hpp"

namespace troupe::lab {

struct parameter {
  std::string_view name;
  std::string_view unit;  ///< for messages and the axes of plots
  double min, max;
  void (*set)(scenario& s, double value);
};

std::span<const parameter> parameters();
const parameter* parameter_named(std::string_view name);  ///< null: there is none

}  // namespace troupe::lab
