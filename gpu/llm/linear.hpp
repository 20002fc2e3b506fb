// A projection of a decoder, packed for the CPU kernels.
#pragma once
#include <initializer_list>
#include <string_view>
#include <vector>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/kernels/dense.hpp"

namespace troupe::llm {

/// y = x W^T + bias. Projections that share their input are fused; their outputs are adjacent in y.
struct linear {
  kernels::packed_weights weights;
  std::vector<float> bias;  ///< empty: none

  /// x: [rows, in], y: [rows, out]; both contiguous.
  kernels::dense_args args(const float* x, float* y, size_t rows) const;
};

/// All numbers of a layer's parameter; empty if it has no such parameter.
std::vector<float> floats_of(const layer_parameters& p, std::string_view name);
/// Packs the projections of these names ("lm_head").
linear pack_linear(const layer_parameters& p, std::initializer_list<std::string_view> names, element type);

}  // namespace troupe::llm
