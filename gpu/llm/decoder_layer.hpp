// The weights of a decoder's layers, packed for the CPU kernels.
#pragma once
#include <string_view>
#include <vector>

#include "gpu/llm/expert_layer.hpp"
#include "gpu/llm/linear.hpp"

namespace troupe::llm {

struct decoder_layer {
  std::vector<float> input_norm, post_norm;    // before attention and feed-forward layer
  std::vector<float> attended_norm, fed_norm;  // after them; empty: none
  std::vector<float> query_norm, key_norm;     // of each head; empty: none
  linear qkv, o;
  linear gate_up, down;  // unused in a layer with experts
  expert_layer experts;
};

/// Packs weights as `type`. Requires: a layer of the transformer, as `checkpoint::read` returns it.
decoder_layer pack_layer(const layer_parameters& p, const model_config& config, element type);
/// The weights of a norm, with `norm_offset` added; empty if the layer has no such parameter.
std::vector<float> norm_of(const layer_parameters& p, const model_config& config, std::string_view name);

}  // namespace troupe::llm
