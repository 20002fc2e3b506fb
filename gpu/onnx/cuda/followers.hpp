// The epilogue of a product or convolution: a bias, a residual and a ReLU fused into its step.
#pragma once
#include <optional>
#include <string>

#include "gpu/onnx/cuda/program_builder.hpp"

namespace troupe::cuda {

struct followers {
  std::string result;  ///< the value that the last of them defines
  std::optional<device_value> bias, residual;
  bool relu = false;
};

/// Fuses the only readers of output 0 of the current node. bias: the node's own, if it has one; else an Add
/// of a known vector along dimension `axis` of the output is taken. strides: layout that a residual must
/// have; empty: no residual is taken.
followers take_followers(program_builder& b, std::optional<device_value> bias, size_t axis,
                         const onnx::shape& strides);

}  // namespace troupe::cuda
