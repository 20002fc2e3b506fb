// Sizes of a decoder's kernels, and the weights of a layer on the device.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/llm/vocabulary_part.hpp"

namespace troupe::llm {
struct model_config;
}

namespace troupe::cuda {

struct decoder_shape {
  uint32_t layers = 0;
  uint32_t hidden = 0, intermediate = 0;           ///< multiples of 8
  uint32_t heads = 0, kv_heads = 0, head_dim = 0;  ///< head_dim 16, 32, 64 or 128
  uint32_t vocabulary = 0;
  float norm_epsilon = 0;
  uint32_t block_tokens = 0;  ///< of a page of the KV cache
  /// Tensor-parallel rank. heads, kv_heads and intermediate are those of the rank's shard.
  uint32_t rank = 0, ranks = 1;

  uint32_t q_width() const { return heads * head_dim; }
  uint32_t kv_width() const { return kv_heads * head_dim; }
  uint32_t qkv_width() const { return q_width() + 2 * kv_width(); }
  /// Bytes of a block of the KV cache, in all layers.
  uint64_t page_bytes() const { return uint64_t{layers} * 2 * block_tokens * kv_width() * 2; }
  /// The rank's rows of the head.
  llm::vocabulary_part part() const { return {vocabulary, rank, ranks}; }
  /// Floats from row to row of the logits. A multiple of 4, because kernels read 16 bytes at once. Rank 0 has
  /// room for the parts of all ranks, in their order; other ranks for their own.
  uint32_t logits_stride() const { return part().max_count * (rank == 0 ? ranks : 1); }
};

/// Of a whole model, or of the shard of a rank. Throws model_error with the reason if the kernels do not
/// support the model.
decoder_shape shape_of(const llm::model_config& config, uint32_t block_tokens, uint32_t rank = 0,
                       uint32_t ranks = 1);

/// Number of blocks in a KV cache of `kv_bytes`. Throws model_error if there is no room for one.
uint32_t kv_blocks(const decoder_shape& shape, uint64_t kv_bytes);

/// Weights of a layer, 16 bits each. Biases may be null.
struct layer_pointers {
  const void *input_norm = nullptr, *post_norm = nullptr;  ///< [hidden]
  const void *qkv = nullptr, *qkv_bias = nullptr;          ///< [q | k | v, hidden]
  const void *o = nullptr, *o_bias = nullptr;              ///< [hidden, q]
  const void *gate_up = nullptr, *gate_up_bias = nullptr;  ///< [gate | up, hidden]
  const void *down = nullptr, *down_bias = nullptr;        ///< [hidden, intermediate]
};

}  // namespace troupe::cuda
