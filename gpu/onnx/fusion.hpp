// Rewrites a graph so that it computes the same in fewer steps. What needs to know layouts and lifetimes
// (bias, residual, activation as part of a product) is fused when plans are built (plan_builder.hpp).
#pragma once
#include "gpu/onnx/graph.hpp"

namespace troupe::onnx {

enum class fusion { off, on };

/// Takes out Identity and idle Dropout. Folds what scales or shifts whole channels by constants
/// (BatchNormalization, Mul, Add) into the constant weights and bias of the Conv, ConvTranspose or Gemm
/// before it, computed in double precision: results differ by rounding only. Nothing is fused if the value
/// between has another reader or is an output of the graph; graph outputs keep their names. Requires:
/// constants are folded.
void fuse(graph& g);

}  // namespace troupe::onnx
