// The KV cache on a GPU, in the CPU's layout (gpu/kernels/paged_kv.hpp), so that blocks can move between
// them: [pages, layers, 2 (key, value), kv_heads, page_tokens, head_dim], numbers of 16 bits.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

struct kv_pages {
  void* pages = nullptr;
  uint32_t layers = 0, kv_heads = 0, page_tokens = 0, head_dim = 0;

  /// Numbers of one layer of a page.
  TROUPE_BOTH size_t layer_size() const { return size_t{2} * kv_heads * page_tokens * head_dim; }
  /// The keys of one layer of a page, [kv_heads, page_tokens, head_dim], followed by its values.
  TROUPE_BOTH uint16_t* page(uint32_t which, uint32_t layer) const {
    return static_cast<uint16_t*>(pages) + (size_t{which} * layers + layer) * layer_size();
  }
};

/// Position p of sequence s is in page blocks[block_start[s] + p / page_tokens].
struct page_table {
  const uint32_t* block_start = nullptr;  ///< [sequences + 1]
  const uint32_t* blocks = nullptr;

  TROUPE_BOTH uint32_t page(uint32_t sequence, uint32_t position, uint32_t page_tokens) const {
    return blocks[block_start[sequence] + position / page_tokens];
  }
};

}  // namespace troupe::cuda
