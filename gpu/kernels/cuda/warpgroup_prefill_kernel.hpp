// Prefill attention with wgmma (sm_90a), for head sizes 64 and 128, as in FlashAttention-3. A block has one
// query head and up to 128 rows of one sequence, 64 for each warpgroup. While a warpgroup calculates the
// powers of a tile, the tensor cores multiply the values of the tile before, and the other warpgroup's
// products. Queries, powers and results stay in registers. Keys and values are copied into ring buffers of
// four tiles each, three tiles ahead.
#pragma once
#include <type_traits>

#include "gpu/kernels/cuda/paged_prefill_kernel.hpp"

namespace troupe::cuda {

template <element E, uint32_t Dim>
struct warpgroup_prefill_kernel : prefill_rows<E, Dim, 256> {
  using base = prefill_rows<E, Dim, 256>;
  using base::tile;
  using typename base::kv_tile;
  static constexpr uint32_t rows = 64;  // of a warpgroup
  static_assert(2 * rows == prefill_item_rows);

  grid_size grid(uint32_t max_items) const { return base::grid_of(max_items); }
  size_t shared_bytes() const { return size_t{2} * slots * kv_tile::size * sizeof(uint16_t); }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.launch_dependents();
    t.grid_dependency_sync();
    const uint32_t head = base::head_of(t);
    if (t.block_y() >= *base::item_count || head >= base::heads) return;
    const prefill_item item = base::items[t.block_y()];
    const uint32_t end = item.first_position + item.rows;
    const uint32_t first = base::begin_of(item) / tile * tile, tiles = ceil_div(end - first, tile);
    // the context of this warpgroup's rows may end earlier
    const uint32_t skipped = t.warp() / 4 * rows,
                   own_end = smaller(end, item.first_position + skipped + rows);
    // the shuffle tells the compiler that the value is uniform in the warp
    const uint32_t own = t.shuffle(skipped < item.rows ? ceil_div(own_end - first, tile) : 0, 0);
    const uint32_t first_row = t.warp() * 16, lowest = item.first_position + first_row;

    auto walk = base::walk(t, item, head, first);
    uint32_t found[slots];
    TROUPE_UNROLL for (uint32_t i = 0; i < slots; ++i) found[i] = walk.next();
    walk.copy_keys(found[0], keys(t, 0)), t.cp_async_commit_group();
    TROUPE_UNROLL for (uint32_t i = 0; i < ahead; ++i) {
      walk.copy_values(found[i], values(t, i));
      walk.copy_keys(found[i + 1], keys(t, i + 1)), t.cp_async_commit_group();
    }
    uint32_t vectors = found[ahead], next = walk.next();

    typename base::query_fragments queries;
    base::load_queries(t, item, head, first_row, queries);
    typename base::row_sums result = {};
    typename base::tile_scores scores;
    uint32_t powers[tile / 16][4];
    online_softmax<2> softmax;
    float shrink[2];
    t.template cp_async_wait_group<ahead>();
    t.fence_proxy_async();
    t.sync();
    if (own > 0) {
      multiply_keys(t, 0, queries, scores), t.wgmma_commit_group();
      t.template wgmma_wait_group<0>(scores);
      base::hide(t, first, lowest, scores);
      softmax.add(t, scores, base::scale, shrink);
      base::pack(t, scores, powers);
    }
    for (uint32_t i = 0; i < tiles; ++i) {
      t.template cp_async_wait_group<ahead - 1>();
      t.fence_proxy_async();
      t.sync();               // values of tile i and keys of the next are loaded; no thread uses older ones
      const auto ask = [&] {  // loads later tiles while the tensor cores work
        walk.copy_values(vectors, values(t, i + ahead));
        walk.copy_keys(next, keys(t, i + ahead + 1)), t.cp_async_commit_group();
        vectors = next, next = walk.next();
      };
      if (i + 1 < own) {
        multiply_keys(t, i + 1, queries, scores), t.wgmma_commit_group();
        multiply_values(t, i, powers, result), t.wgmma_commit_group();
        ask();
        t.template wgmma_wait_group<1>(scores);
        base::hide(t, first + (i + 1) * tile, lowest, scores);
        softmax.add(t, scores, base::scale, shrink);
        t.fence_operand(
            scores);  // powers are calculated before the wait, concurrently with the product of values
        if (t.warpgroup_any(shrink[0] != 1 || shrink[1] != 1)) {
          t.template wgmma_wait_group<0>(result);
          base::multiply(result, shrink);
        }
        t.template wgmma_wait_group<0>(result);
        t.fence_operand(powers);
        base::pack(t, scores, powers);
      } else if (i + 1 == own) {
        multiply_values(t, i, powers, result), t.wgmma_commit_group();
        ask();
        t.template wgmma_wait_group<0>(result);
      } else {
        ask();
      }
    }
    t.template cp_async_wait_group<0>();
    base::write(t, item, head, first_row, softmax, result);
  }

 private:
  static constexpr uint32_t slots = 4, ahead = slots - 1;
  static constexpr uint32_t panel_bytes = kv_tile::panel * sizeof(uint16_t);

  /// Of tile i.
  template <class Thread>
  TROUPE_DEVICE static uint16_t* keys(Thread t, uint32_t i) {
    return t.template shared<uint16_t>() + i % slots * kv_tile::size;
  }
  template <class Thread>
  TROUPE_DEVICE static uint16_t* values(Thread t, uint32_t i) {
    return t.template shared<uint16_t>() + (slots + i % slots) * kv_tile::size;
  }

  template <class Thread>
  TROUPE_DEVICE static void multiply_keys(Thread t, uint32_t i, const typename base::query_fragments& queries,
                                          typename base::tile_scores& scores) {
    const auto descriptor = t.smem_descriptor(keys(t, i), panel_bytes);
    t.wgmma_fence();
    TROUPE_UNROLL for (uint32_t s = 0; s < Dim / 16; ++s)  // sixteen dims: four to a panel
        t.template wgmma_mma_async<E, false>(scores, queries[s], descriptor, s / 4 * panel_bytes + s % 4 * 32,
                                             s > 0);
  }
  template <class Thread>
  TROUPE_DEVICE static void multiply_values(Thread t, uint32_t i, const uint32_t (&powers)[tile / 16][4],
                                            typename base::row_sums& result) {
    const auto descriptor = t.smem_descriptor(values(t, i), panel_bytes);
    t.wgmma_fence();
    TROUPE_UNROLL for (uint32_t s = 0; s < tile / 16; ++s)  // sixteen positions
        t.template wgmma_mma_async<E, true>(result, powers[s], descriptor, s * 16 * 128, true);
  }
};

/// The faster prefill kernel. Sm90: the device runs the code for sm_90a.
template <element E, uint32_t Dim, bool Sm90>
using prefill_kernel =
    std::conditional_t<Sm90 && (Dim >= 64), warpgroup_prefill_kernel<E, Dim>, paged_prefill_kernel<E, Dim>>;

}  // namespace troupe::cuda
