// Bounds of a graph that OpenVINO's CPU plug-in does not check: beyond them it takes gigabytes, or the
// process ends.
#pragma once
#include <openvino/core/model.hpp>

namespace troupe::vino {

/// Throws model_error that names the node: a tensor that no memory holds, constants that grow far beyond
/// those of the file, or an operator with inputs for which the plug-in ends the process. Free dimensions
/// count as their least size.
/// `folds_inputs`: inputs that the cluster file fixes may make axes constant, which are not checked then.
void check_bounds(const ov::Model& model, bool folds_inputs);

}  // namespace troupe::vino
