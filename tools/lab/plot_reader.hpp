// Reads the [plot] table of an experiment.
#pragma once
#include "config/reader.hpp"
#include "tools/lab/experiment.hpp"

namespace troupe::lab {

/// Requires: the measure, the policies and the axes of `of` are known. `axes_complete`: false if an axis has
/// an unknown parameter.
plot_spec read_plot(section& s, bool axes_complete, const experiment& of);

}  // namespace troupe::lab
