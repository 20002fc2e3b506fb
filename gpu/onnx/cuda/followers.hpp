// What may follow a product or a convolution in the same step: a bias, a residual, a ReLU.
#pragma once
#include <optional>
#include <string>

#include "gpu/onnx/cuda/program_builder.hpp"

namespace troupe::cuda {

struct followers {
  std::string result;  ///< the value that they give in the end
  std::optional<device_value> bias, residual;
  bool relu = false;
};

/// Takes over what alone reads output 0 of the current node. bias: what it has by itself; else an Add of as
/// many known numbers as dimension `axis` of the output has. strides: how a residual must lie; empty: none is
/// taken.
followers take_followers(program_builder& b, std::optional<device_value> bias, size_t axis,
                         const onnx::shape& strides);

}  // namespace troupe::cuda
