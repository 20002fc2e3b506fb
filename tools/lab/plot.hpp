// Draws the results of an experiment with gnuplot.
#pragma once
#include <filesystem>
#include <string>

#include "tools/lab/results.hpp"

namespace troupe::lab {

/// A script with its data in it, without a terminal. Empty if the experiment says nothing about a plot.
std::string plot_script(const results& r);

/// Writes NAME.gnuplot, NAME.png and NAME.svg. The error if gnuplot is missing or fails, else empty.
std::string draw(const results& r, const std::filesystem::path& folder);

}  // namespace troupe::lab
