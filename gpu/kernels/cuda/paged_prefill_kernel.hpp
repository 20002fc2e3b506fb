// Attention of a prefill's rows to their cached tokens, as in FlashAttention-2. A block has one query head
// and up to 64 rows of one sequence. It iterates over tiles of keys and values that all its warps share, and
// loads the next one during the products. For any head size and GPU; warpgroup_prefill_kernel.hpp is faster
// on sm_90a.
//
// The work is 4 Dim rows positions / 2 flops for each head of a prompt from the start.
#pragma once
#include "gpu/kernels/cuda/prefill_rows.hpp"

namespace troupe::cuda {

template <element E, uint32_t Dim>
struct paged_prefill_kernel : prefill_rows<E, Dim, 128> {
  using base = prefill_rows<E, Dim, 128>;
  using base::tile;
  using typename base::kv_tile;
  static constexpr uint32_t min_blocks = 3;  // blocks of a multiprocessor, limited by shared memory
  static constexpr uint32_t rows = 64;

  grid_size grid(uint32_t max_items) const { return base::grid_of(max_items * parts); }
  size_t shared_bytes() const { return size_t{2} * stage_size * sizeof(uint16_t); }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.launch_dependents();
    t.grid_dependency_sync();
    const uint32_t head = base::head_of(t), first_row = t.warp() * 16;  // of this warp, in the item
    if (t.block_y() >= *base::item_count * parts || head >= base::heads) return;
    prefill_item item = base::items[t.block_y() / parts];
    const uint32_t skipped = (parts - 1 - t.block_y() % parts) * rows;  // longest contexts first
    if (skipped >= item.rows) return;
    item.first_row += skipped, item.first_position += skipped;
    item.rows = smaller(item.rows - skipped, rows);

    typename base::query_fragments queries;
    base::load_queries(t, item, head, first_row, queries);
    const uint32_t end = item.first_position + item.rows;
    typename base::row_sums result = {};
    online_softmax<2> softmax;
    uint32_t position = base::begin_of(item) / tile * tile;
    auto tiles = base::walk(t, item, head, position);
    load(t, tiles, tiles.next(), 0);
    uint32_t vectors = tiles.next();  // a tile before its use
    for (uint32_t stage = 0; position < end; position += tile, stage ^= 1) {
      load(t, tiles, vectors, stage ^ 1);  // loads nothing behind the last tile
      vectors = tiles.next();
      t.template cp_async_wait_group<1>();
      t.sync();
      const uint16_t* keys = t.template shared<uint16_t>() + stage * stage_size;
      typename base::tile_scores scores = {};
      multiply_keys(t, keys, queries, scores);
      base::hide(t, position, item.first_position + first_row, scores);
      float shrink[2];
      softmax.add(t, scores, base::scale, shrink);
      base::multiply(result, shrink);
      multiply_values(t, keys + kv_tile::size, scores, result);
      t.sync();  // before the next iteration copies into this stage
    }
    t.template cp_async_wait_group<0>();
    base::write(t, item, head, first_row, softmax, result);
  }

 private:
  static constexpr uint32_t parts = prefill_item_rows / rows;  // of an item
  static constexpr uint32_t stage_size = 2 * kv_tile::size;    // numbers: keys, values

  template <class Thread, class Tiles>
  TROUPE_DEVICE static void load(Thread t, const Tiles& tiles, uint32_t vectors, uint32_t stage) {
    uint16_t* to = t.template shared<uint16_t>() + stage * stage_size;
    tiles.copy_keys(vectors, to), tiles.copy_values(vectors, to + kv_tile::size);
    t.cp_async_commit_group();
  }

  template <class Thread>
  TROUPE_DEVICE static void multiply_keys(Thread t, const uint16_t* keys,
                                          const typename base::query_fragments& queries,
                                          typename base::tile_scores& scores) {
    const uint32_t matrix = t.lane() / 8, r = t.lane() % 8;
    TROUPE_UNROLL for (uint32_t s = 0; s < Dim / 16; ++s) {
      TROUPE_UNROLL for (uint32_t b = 0; b < tile / 16;
                         ++b) {  // sixteen tokens: two matrices of eight, both halves
        uint32_t m[4];
        t.ldmatrix(m, keys + kv_tile::place(16 * b + matrix / 2 * 8 + r, 2 * s + matrix % 2));
        t.template mma<E>(scores[2 * b], queries[s], m[0], m[1]);
        t.template mma<E>(scores[2 * b + 1], queries[s], m[2], m[3]);
      }
    }
  }

  template <class Thread>
  TROUPE_DEVICE static void multiply_values(Thread t, const uint16_t* values,
                                            const typename base::tile_scores& powers,
                                            typename base::row_sums& result) {
    const uint32_t matrix = t.lane() / 8, r = t.lane() % 8;
    uint32_t a[tile / 16][4];
    base::pack(t, powers, a);
    TROUPE_UNROLL for (uint32_t s = 0; s < tile / 16; ++s) {
      TROUPE_UNROLL for (uint32_t n = 0; n < Dim / 16; ++n) {
        uint32_t m[4];
        t.ldmatrix_trans(m, values + kv_tile::place(16 * s + matrix % 2 * 8 + r, 2 * n + matrix / 2));
        t.template mma<E>(result[2 * n], a[s], m[0], m[1]);
        t.template mma<E>(result[2 * n + 1], a[s], m[2], m[3]);
      }
    }
  }
};

}  // namespace troupe::cuda
