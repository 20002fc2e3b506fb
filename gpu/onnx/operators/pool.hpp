#pragma once
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

/// [N, C, ...] with 1 to 3 spatial dimensions.
bool has_spatial_dimensions(const value& x);

/// Defines output 0 as the average over all spatial dimensions, which stay as 1. Requires
/// `has_spatial_dimensions(x)`.
void emit_global_average(plan_builder& b, const value& x);

}  // namespace troupe::onnx
