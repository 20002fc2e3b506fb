// Rotary position embedding (RoPE) of queries and keys, in place, in the halves convention of Hugging Face:
// numbers i and i + rotated / 2 of a head are a pair, which is rotated by position * frequencies[i]; numbers
// from `rotated` on stay. The angles are the same for all layers, and are calculated once a step.
#pragma once
#include <cstddef>
#include <cstdint>

namespace troupe::kernels {

struct rope_angles_args {
  const uint32_t* positions = nullptr;  ///< [rows], in tokens from the sequence's start
  size_t rows = 0;
  uint32_t rotated = 0;                ///< numbers of a head, even
  const float* frequencies = nullptr;  ///< [rotated / 2], radians per token
  float scale = 1;                     ///< of cosine and sine (Transformers: attention_scaling)
  float* cosine = nullptr;             ///< [rows, rotated / 2], written
  float* sine = nullptr;               ///< [rows, rotated / 2], written
};

struct rope_args {
  float* q = nullptr;   ///< [rows, heads, head_dim], rotated
  size_t q_stride = 0;  ///< floats from row to row, at least heads * head_dim
  float* k = nullptr;   ///< [rows, kv_heads, head_dim], rotated
  size_t k_stride = 0;
  size_t rows = 0;
  uint32_t heads = 0, kv_heads = 0;
  uint32_t head_dim = 0;
  const float* cosine = nullptr;  ///< [rows, rotated / 2], of rope_angles
  const float* sine = nullptr;
  uint32_t rotated = 0;  ///< numbers of a head, even, at most head_dim
};

void rope_angles_reference(const rope_angles_args& args);
void rope_angles(const rope_angles_args& args);
void rope_reference(const rope_args& args);
void rope(const rope_args& args);

}  // namespace troupe::kernels
