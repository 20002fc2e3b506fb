// Attention of a prefill's rows to their cached tokens (as gpu/kernels/paged_attention.hpp), in the way of
// FlashAttention-2: a block has one query head and up to 64 rows of one sequence, 16 a warp, and walks the
// keys and values in tiles of 64 positions that all its warps share, the next one on its way while one is
// worked on. Tiles start at multiples of 64: a row's bits depend on itself alone.
//
// The work is products: 4 Dim rows positions / 2 of them for each head of a prompt from the start.
#pragma once
#include "gpu/cuda/attention_plan.hpp"
#include "gpu/cuda/kv_pages.hpp"
#include "gpu/cuda/online_softmax.hpp"

namespace troupe::cuda {

/// Of numbers E, 16 bits. Dim: 16, 32, 64 or 128.
template <element E, uint32_t Dim>
struct paged_prefill_kernel {
  static constexpr uint32_t threads = 128, cluster = 1;
  static constexpr uint32_t resident =
      3;  // blocks of a multiprocessor: what their shared memory leaves room for
  static constexpr uint32_t tile = 64;  // positions

  const uint32_t* item_count = nullptr;  ///< [1]; blocks beyond them do nothing
  const prefill_item* items = nullptr;   ///< [item_count]
  const void* q = nullptr;               ///< [rows, heads, Dim], rows q_stride apart
  size_t q_stride = 0;                   ///< a multiple of 8
  void* out = nullptr;                   ///< [rows, heads, Dim], contiguous; rows of items are written
  uint32_t heads = 0;
  kv_pages kv;
  page_table table;
  uint32_t layer = 0, window = 0;
  float scale = 1;  ///< of the scores, times log2(e)

  grid_size grid(uint32_t max_items) const { return {heads, max_items, 1}; }
  size_t shared_bytes() const { return size_t{2} * stage_size * sizeof(uint16_t); }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.release_successor();
    t.wait_for_predecessor();
    // the last tiles of prompts see most: they begin first
    const uint32_t count = *item_count;
    if (t.block_y() >= count) return;
    const prefill_item item = items[count - 1 - t.block_y()];
    const uint32_t head = t.block(), g = t.lane() / 4, q_lane = t.lane() % 4;
    const uint32_t first_row = t.warp() * 16;  // of this warp, in the item

    uint32_t queries[Dim / 16][4];
    load_queries(t, item, head, first_row, queries);
    const uint32_t end = item.first_position + item.rows;
    const uint32_t begin = window == 0 || item.first_position < window ? 0 : item.first_position - window + 1;
    float result[Dim / 8][4] = {};
    online_softmax<2> softmax;
    uint32_t position = begin / tile * tile;
    load_tile(t, head, find(t, item, position, begin, end), 0);
    uint32_t vectors = find(t, item, position + tile, begin, end);  // early: one tile before it is used
    for (uint32_t stage = 0; position < end; position += tile, stage ^= 1) {
      if (position + tile < end) {
        load_tile(t, head, vectors, stage ^ 1);
        vectors = find(t, item, position + 2 * tile, begin, end);
        t.template wait_copies<1>();
      } else {
        t.template wait_copies<0>();
      }
      t.sync();
      const uint16_t* keys = t.template shared<uint16_t>() + stage * stage_size;
      float scores[tile / 8][4] = {};
      multiply_keys(t, keys, queries, scores);
      const uint32_t lowest = item.first_position + first_row;  // position of the warp's first row
      if (position + tile <= lowest + 1 && (window == 0 || position + window > lowest + 15)) {
        TROUPE_UNROLL for (uint32_t b = 0; b < tile / 8; ++b) {
          TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i) scores[b][i] *= scale;
        }
      } else {  // not all rows see all of the tile
        TROUPE_UNROLL for (uint32_t b = 0; b < tile / 8; ++b) {
          TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i) {
            const uint32_t row = lowest + g + i / 2 * 8, at = position + 8 * b + 2 * q_lane + i % 2;
            const bool seen = at <= row && (window == 0 || at + window > row);
            scores[b][i] = seen ? scores[b][i] * scale : softmax.none;
          }
        }
      }
      float shrink[2];
      softmax.add(t, scores, shrink);
      multiply_values(t, keys + tile * Dim, scores, shrink, result);
      t.sync();  // before the next copies into this stage
    }
    softmax.finish(t);
    TROUPE_UNROLL for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t row = first_row + g + 8 * half;
      if (row >= item.rows) continue;
      const float factor = 1 / softmax.sum[half];
      auto* to = reinterpret_cast<uint32_t*>(static_cast<uint16_t*>(out) +
                                             (size_t{item.first_row + row} * heads + head) * Dim);
      TROUPE_UNROLL for (uint32_t n = 0; n < Dim / 8; ++n) to[n * 4 + q_lane] =
          t.template pack<E>(result[n][2 * half] * factor, result[n][2 * half + 1] * factor);
    }
  }

 private:
  static constexpr uint32_t chunks = Dim / 8;             // of 16 bytes, of a vector
  static constexpr uint32_t stage_size = 2 * tile * Dim;  // numbers: keys, values

  /// Where chunk `chunk` of vector `row` lies in a tile: eight rows of a matrix never share banks.
  TROUPE_DEVICE static uint32_t place(uint32_t row, uint32_t chunk) {
    constexpr uint32_t mixed = smaller(chunks, 8U);
    return row * Dim + (chunk ^ (row / (8 / mixed) % mixed)) * 8;
  }

  /// As the first operand of products: rows g, g + 8 at dims 16s + 2q and 8 more.
  template <class Thread>
  TROUPE_DEVICE void load_queries(Thread t, const prefill_item& item, uint32_t head, uint32_t first_row,
                                  uint32_t (&queries)[Dim / 16][4]) const {
    TROUPE_UNROLL for (uint32_t half = 0; half < 2; ++half) {
      const uint32_t row = first_row + t.lane() / 4 + 8 * half;
      const auto* from = reinterpret_cast<const uint32_t*>(static_cast<const uint16_t*>(q) +
                                                           (item.first_row + row) * q_stride + head * Dim) +
                         t.lane() % 4;
      TROUPE_UNROLL for (uint32_t s = 0; s < Dim / 16; ++s) {
        queries[s][half] = row < item.rows ? from[s * 8] : 0;
        queries[s][half + 2] = row < item.rows ? from[s * 8 + 4] : 0;
      }
    }
  }

  /// Where the vectors lie that a warp copies of the tile at `position`, sixteen of them: lane l is told of
  /// number l % 16. Counted in vectors, of layer 0's keys; `nowhere` if no row of the item sees it.
  template <class Thread>
  TROUPE_DEVICE uint32_t find(Thread t, const prefill_item& item, uint32_t position, uint32_t begin,
                              uint32_t end) const {
    const uint32_t i = t.lane() % 16;
    position += (t.warp() * 32 + i / at_once * threads) / chunks + i % at_once;
    if (position < begin || position >= end) return nowhere;
    return table.page(item.sequence, position, kv.page_tokens) *
               (kv.layers * 2 * kv.kv_heads * kv.page_tokens) +
           position % kv.page_tokens;
  }
  static constexpr uint32_t at_once = 32 / chunks;  // vectors that a warp copies at once
  static constexpr uint32_t nowhere = ~0U;

  /// A tile's keys and values on their way into a stage; zeros for what is nowhere.
  template <class Thread>
  TROUPE_DEVICE void load_tile(Thread t, uint32_t head, uint32_t vectors, uint32_t stage) const {
    const uint32_t kv_head = head / (heads / kv.kv_heads), chunk = t.lane() % chunks;
    const uint16_t* keys = static_cast<const uint16_t*>(kv.pages) +
                           size_t{layer * 2 * kv.kv_heads + kv_head} * kv.page_tokens * Dim + chunk * 8;
    const size_t to_values = size_t{kv.kv_heads} * kv.page_tokens * Dim;
    uint16_t* to = t.template shared<uint16_t>() + stage * stage_size;
    TROUPE_UNROLL for (uint32_t i = 0; i < tile * chunks / threads; ++i) {
      const uint32_t row = (i * threads + t.index()) / chunks;
      const uint32_t vector = t.shuffle(vectors, i * at_once + t.lane() / chunks);
      const bool there = vector != nowhere;
      const uint16_t* key = keys + (there ? size_t{vector} * Dim : 0);
      const uint16_t* value = key + to_values;
      t.copy_async(to + place(row, chunk), key, there);
      t.copy_async(to + tile * Dim + place(row, chunk), value, there);
    }
    t.commit_copies();
  }

  template <class Thread>
  TROUPE_DEVICE static void multiply_keys(Thread t, const uint16_t* keys,
                                          const uint32_t (&queries)[Dim / 16][4],
                                          float (&scores)[tile / 8][4]) {
    const uint32_t matrix = t.lane() / 8, r = t.lane() % 8;
    TROUPE_UNROLL for (uint32_t s = 0; s < Dim / 16; ++s) {
      TROUPE_UNROLL for (uint32_t b = 0; b < tile / 16;
                         ++b) {  // sixteen tokens: two matrices of eight, both halves
        uint32_t m[4];
        t.load_matrices(m, keys + place(16 * b + matrix / 2 * 8 + r, 2 * s + matrix % 2));
        t.template multiply_add<E>(scores[2 * b], queries[s], m[0], m[1]);
        t.template multiply_add<E>(scores[2 * b + 1], queries[s], m[2], m[3]);
      }
    }
  }

  template <class Thread>
  TROUPE_DEVICE static void multiply_values(Thread t, const uint16_t* values,
                                            const float (&powers)[tile / 8][4], const float (&shrink)[2],
                                            float (&result)[Dim / 8][4]) {
    TROUPE_UNROLL for (uint32_t n = 0; n < Dim / 8; ++n) {
      TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i) result[n][i] *= shrink[i / 2];
    }
    const uint32_t matrix = t.lane() / 8, r = t.lane() % 8;
    TROUPE_UNROLL for (uint32_t s = 0; s < tile / 16; ++s) {
      const uint32_t a[4] = {t.template pack<E>(powers[2 * s][0], powers[2 * s][1]),
                             t.template pack<E>(powers[2 * s][2], powers[2 * s][3]),
                             t.template pack<E>(powers[2 * s + 1][0], powers[2 * s + 1][1]),
                             t.template pack<E>(powers[2 * s + 1][2], powers[2 * s + 1][3])};
      TROUPE_UNROLL for (uint32_t n = 0; n < Dim / 16; ++n) {
        uint32_t m[4];
        t.load_transposed(m, values + place(16 * s + matrix % 2 * 8 + r, 2 * n + matrix / 2));
        t.template multiply_add<E>(result[2 * n], a, m[0], m[1]);
        t.template multiply_add<E>(result[2 * n + 1], a, m[2], m[3]);
      }
    }
  }
};

}  // namespace troupe::cuda
