// The weights of a decoder's layers, as its kernels want them.
#pragma once
#include <vector>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/kernels/dense.hpp"

namespace troupe::llm {

/// y = x W^T + bias, of one projection or of several that share their input, one behind the other in y.
struct linear {
  kernels::packed_weights weights;
  std::vector<float> bias;  ///< empty: none

  /// y: [rows, out], contiguous; so is x.
  kernels::dense_args args(const float* x, float* y, size_t rows) const;
};

struct decoder_layer {
  std::vector<float> input_norm, post_norm;
  linear qkv, o, gate_up, down;
};

/// Packs them as `type`. Requires: a layer of the transformer, as `checkpoint::read` gives it.
decoder_layer pack_layer(const layer_parameters& p, element type);

/// All numbers of a weight.
std::vector<float> floats_of(const weight_view& w);
/// The same of a layer's parameter; none if it has no such.
std::vector<float> floats_of(const layer_parameters& p, std::string_view name);
/// The projection of that name alone ("lm_head").
linear pack_linear(const layer_parameters& p, std::initializer_list<std::string_view> names, element type);

}  // namespace troupe::llm
