// The fewest dimensions in which tensors that are read or written together can be walked.
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

/// Of tensors of `dims` with these strides each: dimensions of one element are left out, and those that all
/// tensors walk as one are one. The order stays. Requires: at most 2^32 - 1 elements.
merged_walk merge_dimensions(const onnx::shape& dims, const std::vector<onnx::shape>& strides);

/// The dimensions from the one with the largest stride to the one with the smallest; of those alike the first
/// one first.
std::vector<size_t> memory_order(const onnx::shape& dims, const onnx::shape& strides);

/// Strides of a dense tensor whose dimensions lie in this order.
onnx::shape dense_strides(const onnx::shape& dims, const std::vector<size_t>& order);

/// [batch, channels, spatial...] as it lies with the channels last; of less than two dimensions row-major.
onnx::shape channels_last_strides(const onnx::shape& dims);

/// Strides with which to walk a tensor of `dims` as if it had the shape `wanted`, as numpy repeats it.
onnx::shape repeated_strides(const onnx::shape& dims, const onnx::shape& strides, const onnx::shape& wanted);

onnx::shape permuted(const onnx::shape& of, const std::vector<size_t>& order);

}  // namespace troupe::cuda
