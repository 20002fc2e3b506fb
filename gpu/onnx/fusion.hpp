// Graph fusion: rewrites a graph so that it computes the same in fewer steps. Fusions that need layouts and
// lifetimes (bias, residual, activation of a product) happen when plans are built (plan_builder.hpp).
#pragma once
#include "gpu/onnx/graph.hpp"

namespace troupe::onnx {

enum class fusion { off, on };

/// Removes Identity and inactive Dropout. Folds scales and shifts of whole channels by constants
/// (BatchNormalization, Mul, Add) into the constant weights and bias of the Conv, ConvTranspose or Gemm
/// before them, in double precision: results differ by rounding only. A pair is not fused if the value
/// between has another reader or is an output of the graph. Graph outputs keep their names. Requires:
/// constants are folded.
void fuse(graph& g);

}  // namespace troupe::onnx
