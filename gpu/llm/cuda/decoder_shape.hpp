// A decoder as its kernels see it: sizes, and where the weights lie on the device.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/llm/vocabulary_part.hpp"

namespace troupe::cuda {

struct decoder_shape {
  uint32_t layers = 0;
  uint32_t hidden = 0, intermediate = 0;           ///< multiples of 8
  uint32_t heads = 0, kv_heads = 0, head_dim = 0;  ///< head_dim 16, 32, 64 or 128
  uint32_t vocabulary = 0;
  float norm_epsilon = 0;
  uint32_t block_tokens = 0;  ///< of a page of the KV cache
  /// Which one of how many that share the model: heads, kv_heads and intermediate are what it has of them.
  uint32_t rank = 0, ranks = 1;

  uint32_t q_width() const { return heads * head_dim; }
  uint32_t kv_width() const { return kv_heads * head_dim; }
  uint32_t qkv_width() const { return q_width() + 2 * kv_width(); }
  /// The rank's rows of the head.
  llm::vocabulary_part part() const { return {vocabulary, rank, ranks}; }
  /// Floats from row to row of the logits, a multiple of 4: 16 bytes are read at once. The first rank has
  /// room for all parts, one after the other, the others have their own.
  uint32_t logits_stride() const { return part().max_count * (rank == 0 ? ranks : 1); }
};

/// One layer's weights, numbers of 16 bits; biases may be null.
struct layer_pointers {
  const void *input_norm = nullptr, *post_norm = nullptr;  ///< [hidden]
  const void *qkv = nullptr, *qkv_bias = nullptr;          ///< [q | k | v, hidden]
  const void *o = nullptr, *o_bias = nullptr;              ///< [hidden, q]
  const void *gate_up = nullptr, *gate_up_bias = nullptr;  ///< [gate | up, hidden]
  const void *down = nullptr, *down_bias = nullptr;        ///< [hidden, intermediate]
};

}  // namespace troupe::cuda
