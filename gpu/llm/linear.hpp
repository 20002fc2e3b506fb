// A projection of a decoder, packed for the CPU kernels.
#pragma once
#include <span>

#include "gpu/kernels/dense.hpp"

namespace troupe::llm {

/// y = x W^T + bias. Projections that share their input are fused; their outputs are adjacent in y. The
/// numbers are in a layer's image (gpu/llm/layer_image.hpp).
struct linear {
  kernels::packed_weights weights;
  std::span<const float> bias;  ///< empty: none

  /// x: [rows, in], y: [rows, out]; both contiguous.
  kernels::dense_args args(const float* x, float* y, size_t rows) const;
};

}  // namespace troupe::llm
