// The content of a plot, panel by panel: lines with their data in gnuplot's format.
#pragma once
#include <string>
#include <vector>

#include "tools/lab/results.hpp"

namespace troupe::lab {

struct plot_line {
  std::string title, data, style;  ///< data: rows of numbers; style: the part between data and title
};

struct plot_panel {
  std::string title, x_label, y_label;
  std::string settings, reset;  ///< before and after the panel
  std::vector<plot_line> lines;
};

std::vector<plot_panel> panels_of(const results& r);

/// Quoted and escaped for gnuplot.
std::string gnuplot_text(const std::string& text);

}  // namespace troupe::lab
