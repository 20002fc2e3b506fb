// Reads the [[claim]] and [[paper]] tables of an experiment.
#pragma once
#include <string>

#include "config/reader.hpp"
#include "tools/lab/experiment.hpp"

namespace troupe::lab {

/// Requires: the measure, the policies, the axes and the cases of `out` are known. `axes_complete`: false if
/// an axis has an unknown parameter, so that values of unknown parameters are no further problems.
void read_claims(section& root, bool axes_complete, experiment& out);

}  // namespace troupe::lab
