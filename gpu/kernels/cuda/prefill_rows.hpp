// Common part of the prefill attention kernels (semantics: gpu/kernels/paged_attention.hpp): their arguments,
// loads of queries, masks, and writes of results. A warp has 16 rows of one query head, in the layout of
// tensor cores: a lane has rows g and g + 8.
#pragma once
#include "gpu/kernels/cuda/attention_plan.hpp"
#include "gpu/kernels/cuda/kv_tiles.hpp"
#include "gpu/kernels/cuda/online_softmax.hpp"

namespace troupe::cuda {

/// E: type of 16 bits. Dim: 16, 32, 64 or 128. Threads: of a block.
template <element E, uint32_t Dim, uint32_t Threads>
struct prefill_rows {
  static constexpr uint32_t threads = Threads, cluster = 1;

  const uint32_t* item_count = nullptr;  ///< [1]; blocks beyond it do nothing
  const prefill_item* items = nullptr;   ///< [item_count]
  const void* q = nullptr;               ///< [rows, heads, Dim], rows q_stride apart
  size_t q_stride = 0;                   ///< a multiple of 8
  void* out = nullptr;                   ///< [rows, heads, Dim], contiguous; rows of items are written
  uint32_t heads = 0;
  kv_pages kv;
  page_table table;
  uint32_t layer = 0, window = 0;
  float scale = 1;  ///< of the scores, times log2(e)

 protected:
  /// Order of blocks, so that concurrent ones share keys and values: these heads go through all items before
  /// the next heads do.
  static constexpr uint32_t heads_together = 4;
  grid_size grid_of(uint32_t max_items) const {
    return {heads_together, max_items, ceil_div(heads, heads_together)};
  }
  template <class Thread>
  TROUPE_DEVICE static uint32_t head_of(Thread t) {
    return t.block_z() * heads_together + t.block();
  }

  using kv_tile = cuda::kv_tile<Dim, Threads>;
  static constexpr uint32_t tile =
      kv_tile::tokens;  // tiles start at multiples of it, so that a row's bits depend on itself alone
  using query_fragments = uint32_t[Dim / 16][4];
  using tile_scores = float[tile / 8][4];
  using row_sums = float[Dim / 8][4];

  /// The first position that any row of the item sees.
  TROUPE_DEVICE uint32_t begin_of(const prefill_item& item) const {
    return window == 0 || item.first_position < window ? 0 : item.first_position - window + 1;
  }
  /// Iterator over the tiles that an item's rows see, for this head, from `first` on.
  template <class Thread>
  TROUPE_DEVICE auto walk(Thread t, const prefill_item& item, uint32_t head, uint32_t first) const {
    return typename kv_tile::template walk<Thread>(t, kv, table, layer, head / (heads / kv.kv_heads),
                                                   item.sequence, first, begin_of(item),
                                                   item.first_position + item.rows);
  }

  /// Loads queries as the first operand of products: rows g, g + 8 from first_row on, at dims 16s + 2q and 8
  /// further; zeros beyond the item's rows.
  template <class Thread>
  TROUPE_DEVICE void load_queries(Thread t, const prefill_item& item, uint32_t head, uint32_t first_row,
                                  query_fragments& rows) const {
    TROUPE_UNROLL for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t row = first_row + t.lane() / 4 + 8 * half;
      const auto* from = reinterpret_cast<const uint32_t*>(static_cast<const uint16_t*>(q) +
                                                           (item.first_row + row) * q_stride + head * Dim) +
                         t.lane() % 4;
      TROUPE_UNROLL for (uint32_t s = 0; s < Dim / 16; ++s) {
        rows[s][half] = row < item.rows ? from[s * 8] : 0;
        rows[s][half + 2] = row < item.rows ? from[s * 8 + 4] : 0;
      }
    }
  }

  /// Masks the tile at `position`: sets scores that the warp's rows do not see to `none`. lowest: position of
  /// its first row.
  template <class Thread>
  TROUPE_DEVICE void hide(Thread t, uint32_t position, uint32_t lowest, tile_scores& scores) const {
    if (position + tile <= lowest + 1 && (window == 0 || position + window > lowest + 15)) return;
    TROUPE_UNROLL for (uint32_t b = 0; b < tile / 8; ++b) {
      TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i) {
        const uint32_t row = lowest + t.lane() / 4 + i / 2 * 8;
        const uint32_t at = position + 8 * b + t.lane() % 4 * 2 + i % 2;
        if (at > row || (window != 0 && at + window <= row)) scores[b][i] = online_softmax<2>::none;
      }
    }
  }

  TROUPE_DEVICE static void multiply(row_sums& sums, const float (&factor)[2]) {
    TROUPE_UNROLL for (uint32_t n = 0; n < Dim / 8; ++n) {
      TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i) sums[n][i] *= factor[i / 2];
    }
  }

  /// Packs powers as the first operand of products, 16 positions each.
  template <class Thread>
  TROUPE_DEVICE static void pack(Thread t, const tile_scores& powers, uint32_t (&a)[tile / 16][4]) {
    TROUPE_UNROLL for (uint32_t s = 0; s < tile / 16; ++s) {
      TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i) {
        const float* two = powers[2 * s + i / 2] + i % 2 * 2;
        a[s][i] = t.template pack<E>(two[0], two[1]);
      }
    }
  }

  /// Divides by the sums and writes the results.
  template <class Thread>
  TROUPE_DEVICE void write(Thread t, const prefill_item& item, uint32_t head, uint32_t first_row,
                           online_softmax<2>& softmax, const row_sums& sums) const {
    softmax.finish(t);
    TROUPE_UNROLL for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t row = first_row + t.lane() / 4 + 8 * half;
      if (row >= item.rows) continue;
      const float factor = 1 / softmax.sum[half];
      auto* to = reinterpret_cast<uint32_t*>(static_cast<uint16_t*>(out) +
                                             (size_t{item.first_row + row} * heads + head) * Dim) +
                 t.lane() % 4;
      TROUPE_UNROLL for (uint32_t n = 0; n < Dim / 8; ++n) to[n * 4] =
          t.template pack<E>(sums[n][2 * half] * factor, sums[n][2 * half + 1] * factor);
    }
  }
};

}  // namespace troupe::cuda
