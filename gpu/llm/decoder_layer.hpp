// The weights of a decoder's layers, packed for the CPU kernels.
#pragma once
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

struct decoder_layer {
  std::vector<float> input_norm, post_norm;    // before attention and feed-forward layer
  std::vector<float> attended_norm, fed_norm;  // after them; empty: none
  std::vector<float> query_norm, key_norm;     // of each head; empty: none
  linear qkv, o, gate_up, down;
};

/// Packs weights as `type`. Requires: a layer of the transformer, as `checkpoint::read` returns it.
decoder_layer pack_layer(const layer_parameters& p, const model_config& config, element type);
/// The weights of a norm, with `norm_offset` added; empty if the layer has no such parameter.
std::vector<float> norm_of(const layer_parameters& p, const model_config& config, std::string_view name);

/// All numbers of a weight, as floats.
std::vector<float> floats_of(const weight_view& w);
/// The same for a parameter of a layer; empty if it has no such parameter.
std::vector<float> floats_of(const layer_parameters& p, std::string_view name);
/// Packs the projections of these names ("lm_head").
linear pack_linear(const layer_parameters& p, std::initializer_list<std::string_view> names, element type);

}  // namespace troupe::llm
