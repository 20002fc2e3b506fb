// Merges dimensions of tensors that are read or written together, for kernels with few loops.
#pragma once
#include <vector>

#include "gpu/kernels/cuda/tensor_walk.hpp"
#include "gpu/onnx/tensor.hpp"

namespace troupe::cuda {

struct merged_walk {
  tensor_walk walk;
  std::vector<tensor_steps> steps;  ///< by tensor

  uint32_t last_extent() const { return walk.extent[walk.dims - 1]; }
  int64_t last_step(size_t tensor) const { return steps[tensor].step[walk.dims - 1]; }
};

/// For tensors of `dims` with these strides each: leaves out dimensions of one element, and merges dimensions
/// that are contiguous in all tensors. Keeps the order. Requires: at most 2^32 - 1 elements.
merged_walk merge_dimensions(const onnx::shape& dims, const std::vector<onnx::shape>& strides);

/// The dimensions by descending stride; ties in their order.
std::vector<size_t> memory_order(const onnx::shape& dims, const onnx::shape& strides);

/// Strides of a dense tensor with this order of dimensions in memory.
onnx::shape dense_strides(const onnx::shape& dims, const std::vector<size_t>& order);

/// Strides of [batch, channels, spatial...] stored with channels last. Row-major for less than two
/// dimensions.
onnx::shape channels_last_strides(const onnx::shape& dims);

/// Strides of a tensor of `dims` broadcast to the shape `wanted`, by numpy's rules.
onnx::shape repeated_strides(const onnx::shape& dims, const onnx::shape& strides, const onnx::shape& wanted);

onnx::shape permuted(const onnx::shape& of, const std::vector<size_t>& order);

}  // namespace troupe::cuda
