// Writes the keys and values of new tokens into their pages.
#pragma once
#include "gpu/kernels/paged_kv.hpp"

namespace troupe::kernels {

struct kv_append_args {
  const float* k = nullptr;  ///< [rows, kv_heads, head_dim]
  const float* v = nullptr;  ///< [rows, kv_heads, head_dim]
  size_t k_stride = 0;       ///< floats from row to row, at least kv_heads * head_dim
  size_t v_stride = 0;
  size_t rows = 0;
  const uint32_t* row_sequence = nullptr;  ///< [rows], of `table`
  const uint32_t* row_position = nullptr;  ///< [rows], in tokens from the sequence's start
  block_table table;                       ///< has a page for each row's position
  paged_kv kv;                             ///< written; rounded to the nearest number of its type
  uint32_t layer = 0;
};

void kv_append_reference(const kv_append_args& args);
void kv_append(const kv_append_args& args);

}  // namespace troupe::kernels
