// The layers of a decoder as the CPU kernels use them. Their numbers are in images (gpu/llm/layer_image.hpp).
#pragma once
#include <span>

#include "gpu/checkpoint/parameters.hpp"
#include "gpu/llm/expert_layer.hpp"
#include "gpu/llm/linear.hpp"

namespace troupe::llm {

/// Layer 0.
struct embedding_layer {
  weight_view table;  ///< [vocabulary, hidden]
  linear head;        ///< if the embedding is tied
};

struct decoder_layer {
  std::span<const float> input_norm, post_norm;    // before attention and feed-forward layer
  std::span<const float> attended_norm, fed_norm;  // after them; empty: none
  std::span<const float> query_norm, key_norm;     // of each head; empty: none
  linear qkv, o;
  linear gate_up, down;  // unused in a layer with experts
  expert_layer experts;
};

/// The last one.
struct final_layer {
  std::span<const float> norm;
  linear head;  ///< unless the embedding is tied
};

}  // namespace troupe::llm
