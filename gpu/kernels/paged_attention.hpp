// Paged attention: attention of rows to the cached tokens of their sequences, with prefill and decode rows in
// one call.
//
// Keys are processed in blocks of 32 positions that start at multiples of 32, with an online softmax. The
// row's own position and the window cut a block; they do not shift it. The bits of a row's result depend only
// on its query, its position and the cached tokens: a prompt in one piece, in chunks or token by token gives
// the same.
#pragma once
#include "gpu/kernels/paged_kv.hpp"

namespace troupe::kernels {

struct paged_attention_args {
  const float* q = nullptr;  ///< [rows, heads, head_dim]
  size_t q_stride = 0;       ///< floats from row to row, at least heads * head_dim
  float* out = nullptr;      ///< [rows, heads, head_dim], written; does not overlap q
  size_t out_stride = 0;
  size_t rows = 0;
  uint32_t heads = 0;  ///< a multiple of kv_heads: head h reads kv head h / (heads / kv_heads)
  const uint32_t* row_sequence = nullptr;  ///< [rows], of `table`; fastest if a prompt's rows are consecutive
  const uint32_t* row_position = nullptr;  ///< [rows]; causal: a row sees positions up to its own, inclusive
  block_table table;                       ///< has a page for each row's position
  paged_kv kv;  ///< head_dim even, at most 256; holds all positions that the rows see
  uint32_t layer = 0;
  uint32_t window = 0;  ///< sliding window in tokens, including the row's own; 0: none
  float scale = 1;      ///< of the scores before the softmax, usually 1 / sqrt(head_dim)
  float cap = 0;        ///< scaled scores s become cap * tanh(s / cap), as in Gemma 2; 0: none
};

inline constexpr uint32_t attention_max_head_dim = 256;

/// The first position that the row at `position` sees.
constexpr uint32_t attention_begin(uint32_t position, uint32_t window) {
  return window == 0 || position < window ? 0 : position - window + 1;
}

void paged_attention_reference(const paged_attention_args& args);
void paged_attention(const paged_attention_args& args);

}  // namespace troupe::kernels
