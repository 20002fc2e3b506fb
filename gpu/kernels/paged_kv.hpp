// The paged KV cache. Pages are separate, as in Punica (§5), so that a sequence can join and leave at any
// step. A page holds a block of consecutive positions of one sequence, for all layers.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/common/element.hpp"

namespace troupe::kernels {

/// View of a KV cache [pages, layers, 2 (key, value), kv_heads, page_tokens, head_dim]. Does not own the
/// memory.
struct paged_kv {
  enum part : uint32_t { key, value };

  std::byte* pages = nullptr;
  element type = element::f32;
  uint32_t layers = 0, kv_heads = 0, page_tokens = 0, head_dim = 0;

  size_t vector_bytes() const { return head_dim * element_bytes(type); }
  size_t page_bytes() const { return size_t{layers} * 2 * kv_heads * page_tokens * vector_bytes(); }
  /// The vector of one head and token. `slot`: index within the page.
  std::byte* at(uint32_t page, uint32_t layer, part which, uint32_t head, uint32_t slot) const {
    const size_t vectors = ((size_t{layer} * 2 + which) * kv_heads + head) * page_tokens + slot;
    return pages + page * page_bytes() + vectors * vector_bytes();
  }
};

/// The pages of each sequence, concatenated.
struct block_table {
  const uint32_t* block_start = nullptr;  ///< [sequences + 1] into `blocks`
  const uint32_t* blocks =
      nullptr;  ///< position p of sequence s is in page blocks[block_start[s] + p / page_tokens]

  uint32_t page(uint32_t sequence, uint32_t position, uint32_t page_tokens) const {
    return blocks[block_start[sequence] + position / page_tokens];
  }
};

}  // namespace troupe::kernels
