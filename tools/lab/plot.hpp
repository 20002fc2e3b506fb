// Draws the results of an experiment with gnuplot.
#pragma once
#include <filesystem>
#include <string>

#include "tools/lab/results.hpp"

namespace troupe::lab {

/// A script with inline data and without a terminal setting. Empty if the experiment has no plot.
std::string plot_script(const results& r);

/// Writes NAME.gnuplot, NAME.png and NAME.svg. Returns the error if gnuplot is missing or fails, else an
/// empty string.
std::string draw(const results& r, const std::filesystem::path& folder);

}  // namespace troupe::lab
