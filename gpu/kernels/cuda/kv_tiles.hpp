// Copies the cached keys and values of a sequence into a block's shared memory, in tiles of 64 positions.
#pragma once
#include "gpu/kernels/cuda/kv_pages.hpp"

namespace troupe::cuda {

/// Dim: numbers of 16 bits per vector (16, 32, 64 or 128). Threads: of the block; all of them take part.
template <uint32_t Dim, uint32_t Threads>
struct kv_tile {
  static constexpr uint32_t tokens = 64;
  static constexpr uint32_t size = tokens * Dim;  ///< numbers: keys, or values
  static constexpr uint32_t panel_width = smaller(Dim, 64U), panel = tokens * panel_width;
  static constexpr uint32_t nowhere = ~0U;

  /// Position of chunk `chunk` (16 bytes) of vector `row` in a tile. A tile has panels of 64 dims, [tokens,
  /// 64] each, with rows of 128 bytes in the 128-byte swizzle of wgmma's operands: eight rows of a matrix are
  /// in different banks.
  TROUPE_BOTH static constexpr uint32_t place(uint32_t row, uint32_t chunk) {
    constexpr uint32_t mixed = panel_width / 8;
    return chunk / mixed * panel + row * panel_width + ((chunk % mixed) ^ (row / (8 / mixed) % mixed)) * 8;
  }

  /// Iterates over the tiles of a sequence.
  template <class Thread>
  class walk {
   public:
    /// Starts at position `first`, a multiple of 64. Copies the vectors of begin .. end, and zeros for
    /// others.
    TROUPE_DEVICE walk(Thread t, const kv_pages& kv, const page_table& table, uint32_t layer,
                       uint32_t kv_head, uint32_t sequence, uint32_t first, uint32_t begin, uint32_t end)
        : t_(t),
          blocks_(table.blocks + table.block_start[sequence]),
          page_tokens_(kv.page_tokens),
          page_vectors_(kv.layers * 2 * kv.kv_heads * kv.page_tokens),
          begin_(begin),
          end_(end) {
      const auto* pages = static_cast<const uint16_t*>(kv.pages) + t.lane() % chunks * 8;
      const size_t head_size = size_t{kv.page_tokens} * Dim;
      keys_ = pages + (size_t{layer} * 2 * kv.kv_heads + kv_head) * head_size;
      values_ = keys_ + kv.kv_heads * head_size;
      const uint32_t i = t.lane() % own;
      position_ = first + t.warp() * at_once + i / at_once * rows_at_once + i % at_once;
      page_ = position_ / page_tokens_, slot_ = position_ % page_tokens_;
    }

    /// Positions of the vectors that this warp copies of the next tile, distributed over the lanes, in
    /// vectors from layer 0's keys. Call it early, as it reads the page table from memory.
    TROUPE_DEVICE uint32_t next() {
      uint32_t vector = nowhere;
      if (position_ >= begin_ && position_ < end_) vector = blocks_[page_] * page_vectors_ + slot_;
      position_ += tokens, page_ += tokens / page_tokens_, slot_ += tokens % page_tokens_;
      if (slot_ >= page_tokens_) slot_ -= page_tokens_, ++page_;
      return vector;
    }
    /// Copies to `to`, [panels, tokens, panel_width], aligned to 1024 bytes. Does not commit the group of
    /// copies.
    TROUPE_DEVICE void copy_keys(uint32_t vectors, uint16_t* to) const { copy(keys_, vectors, to); }
    TROUPE_DEVICE void copy_values(uint32_t vectors, uint16_t* to) const { copy(values_, vectors, to); }

   private:
    static constexpr uint32_t chunks = Dim / 8;                       // of 16 bytes, of a vector
    static constexpr uint32_t at_once = 32 / chunks;                  // vectors that a warp copies at once
    static constexpr uint32_t rows_at_once = Threads / chunks;        // vectors that the block copies at once
    static constexpr uint32_t own = tokens / rows_at_once * at_once;  // vectors of a tile that a warp copies
    static_assert(rows_at_once % 8 == 0 && own <= 32);

    TROUPE_DEVICE void copy(const uint16_t* from, uint32_t vectors, uint16_t* to) const {
      to += place(t_.index() / chunks, t_.lane() % chunks);
      TROUPE_UNROLL for (uint32_t i = 0; i < tokens / rows_at_once; ++i) {  // eight rows on: same swizzle
        const uint32_t vector = t_.shuffle(vectors, i * at_once + t_.lane() / chunks);
        const bool there = vector != nowhere;
        t_.cp_async(to + i * rows_at_once * panel_width, from + uint64_t{there ? vector : 0} * Dim, there);
      }
    }

    Thread t_;
    const uint32_t* blocks_;  // of the sequence
    const uint32_t page_tokens_, page_vectors_, begin_, end_;
    const uint16_t *keys_, *values_;           // this lane's chunks, in page 0
    uint32_t position_, page_ = 0, slot_ = 0;  // next lookup of this lane
  };
};

}  // namespace troupe::cuda
