// Conditions of an ONNX graph that hang on constants alone, and the branches that they choose.
#pragma once
#include "onnx.pb.h"

namespace troupe::onnx {

/// Replaces each `If` whose condition is known by its chosen branch, also within that branch. Known are
/// single numbers: initializers, constants, and comparisons of known numbers. An `If` whose branch has a name
/// that the graph has, too, stays.
void take_known_branches(::onnx::GraphProto& graph);

}  // namespace troupe::onnx
