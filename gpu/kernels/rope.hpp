// Rotary position embedding of queries and keys, in place, in the halves convention of Hugging Face: numbers
// i and i + head_dim / 2 of a head are a pair, which is turned by position * frequencies[i].
#pragma once
#include <cstddef>
#include <cstdint>

namespace troupe::kernels {

struct rope_args {
  float* q = nullptr;   ///< [rows, heads, head_dim], turned
  size_t q_stride = 0;  ///< floats from row to row, at least heads * head_dim
  float* k = nullptr;   ///< [rows, kv_heads, head_dim], turned
  size_t k_stride = 0;
  size_t rows = 0;
  uint32_t heads = 0, kv_heads = 0;
  uint32_t head_dim = 0;                ///< even, at most 256
  const uint32_t* positions = nullptr;  ///< [rows], in tokens from the sequence's start
  const float* frequencies = nullptr;   ///< [head_dim / 2], radians a token
  float scale = 1;                      ///< of cosine and sine (Transformers: attention_scaling)
};

inline constexpr uint32_t rope_max_head_dim = 256;

void rope_reference(const rope_args& args);
void rope(const rope_args& args);

}  // namespace troupe::kernels
