// LoRA for a step that mixes adapters: y += scale (x A^T) B, in one launch, with its own A and B for each
// tile of rows. (Punica §4 uses two kernels, and v goes through memory.) Projections that share x (q, k, v;
// gate, up) share the launch, too.
//
// A cluster of blocks works on a tile. Each block multiplies its share of the inputs with A; the sums v are
// exchanged through shared memory; each block writes its share of the outputs. Memory traffic is A and B
// once, 2 rank (in + out) bytes a tile. Loads of B start before A is used, and both start before the previous
// kernel has ended. At rank 16 and 4096 -> 4096, 64 adapters have all of their 16.8 MB in flight.
//
// x is the second operand of the tensor cores, 8 rows at once: a single row wastes products, which are free
// here, but no bytes. v keeps the precision of float: it is split into two numbers of 16 bits for B. A row's
// bits depend on `cluster` and its adapter, not on the other rows, their adapters or the tile's rows.
#pragma once
#include "gpu/kernels/cuda/lora_pack.hpp"
#include "gpu/kernels/cuda/lora_tiles.hpp"

namespace troupe::cuda {

/// One adapter's matrices for one projection, on the device. Not owned.
struct lora_matrices {
  const void* a = nullptr;  ///< packed by pack_lora_a
  const void* b = nullptr;  ///< packed by pack_lora_b
  uint32_t ranks = 0;       ///< lora_ranks of the rank, at most 256; 0: no adapter
  float scale = 1;
};

/// Both stages, or only one, with v in memory.
enum class lora_stage : uint8_t { both, shrink, expand };

/// E: type of 16 bits. Cluster: 8; 1 on devices without clusters.
template <element E, uint32_t Cluster = 8, lora_stage Stage = lora_stage::both>
struct lora_kernel {
  static constexpr uint32_t threads = 128, cluster = Cluster;
  static constexpr uint32_t min_blocks = 4;  // so that 64 clusters of 8 are resident at once
  static constexpr uint32_t max_projections = 3;

  struct projection {
    uint32_t out = 0;     ///< a multiple of 8
    void* y = nullptr;    ///< [rows, out], E; does not overlap x
    size_t y_stride = 0;  ///< from row to row, a multiple of 8
    float* v = nullptr;   ///< [rows, v_stride]; only for single stages: shrink writes it, expand reads it
  };

  const lora_tile* tiles = nullptr;  ///< one for each cluster of the grid; those without rows end at once
  const lora_matrices* adapters = nullptr;  ///< [slots, adapter_stride]: a slot's first is projection 0's
  uint32_t adapter_stride = 0;
  const void* x = nullptr;  ///< [rows, in], E
  size_t x_stride = 0;      ///< a multiple of 8
  uint32_t in = 0;          ///< a multiple of 8
  uint32_t v_stride = 0;    ///< at least `max_ranks`
  projection projections[max_projections];
  uint32_t max_ranks = 0;            ///< of any adapter
  uint32_t tile_rows = narrow_tile;  ///< maximum of all tiles; narrow_tile or wide_tile
  /// True: adds to y. False: overwrites y (with 0 where there is no adapter), and a product is added to it
  /// later.
  bool adds = true;

  /// The previous kernel must not write the tables, as they are read before it has ended.
  grid_size grid(uint32_t max_tiles, uint32_t projection_count) const {
    return {max_tiles * cluster, 1, projection_count};
  }
  size_t shared_bytes() const { return shared_bytes(max_ranks, tile_rows); }
  static constexpr size_t shared_bytes(uint32_t max_ranks, uint32_t tile_rows) {
    return queue_bytes + size_t{larger(max_ranks, warps * 16) + max_ranks} * tile_rows * sizeof(float);
  }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.launch_dependents();
    const uint32_t index = t.block() / cluster;
    const lora_tile tile = tiles[index];
    const lora_matrices w = tile.rows > 0 && tile.adapter != no_adapter
                                ? adapters[size_t{tile.adapter} * adapter_stride + t.block_z()]
                                : lora_matrices{};
    if (w.ranks == 0) {
      t.grid_dependency_sync();  // so that a wait for this kernel is a wait for the previous one, too
      if (Stage != lora_stage::shrink && !adds) clear_y(t, tile);
    } else if (tile.rows <= narrow_tile) {
      work<1>(t, tile, w);
    } else {
      work<wide_tile / 8>(t, tile, w);
    }
  }

 private:
  static constexpr uint32_t warps = threads / 32;
  static constexpr uint32_t depth = 6;  // of a lane's queue of B, in groups of four fragments
  static constexpr size_t queue_bytes = size_t{warps} * depth * 4 * 32 * sizeof(vec16);

  /// Prefetches the fragments of B for a lane into shared memory, `depth` groups ahead. Each lane copies its
  /// own.
  template <class Thread>
  struct b_queue {
    Thread t;
    const vec16* from;  // the next group of this lane
    size_t jump;        // from the last group of a unit to the first of the next
    uint32_t steps;     // groups of a unit
    uint32_t units;     // remaining, with the current one
    uint32_t step = 0, in_slot = 0, out_slot = 0;

    TROUPE_DEVICE vec16* slot(uint32_t i) const {
      return t.template shared<vec16>() + ((t.warp() * depth + i) * 4) * 32 + t.lane();
    }
    TROUPE_DEVICE void push() {
      if (units > 0) {
        TROUPE_UNROLL for (uint32_t m = 0; m < 4; ++m) t.cp_async(slot(in_slot) + m * 32, from + m * 32);
        from += 4 * 32;
        if (++step == steps) step = 0, --units, from += jump;
      }
      t.cp_async_commit_group();
      in_slot = in_slot + 1 == depth ? 0 : in_slot + 1;
    }
    TROUPE_DEVICE void pop(vec16 (&group)[4]) {
      t.template cp_async_wait_group<depth - 1>();
      TROUPE_UNROLL for (uint32_t m = 0; m < 4; ++m) group[m] = slot(out_slot)[m * 32];
      out_slot = out_slot + 1 == depth ? 0 : out_slot + 1;
      push();
    }
  };

  template <uint32_t Columns, class Thread>  // of 8 rows
  TROUPE_DEVICE void work(Thread t, const lora_tile& tile, const lora_matrices& w) const {
    const projection& p = projections[t.block_z()];
    const uint32_t rank = t.block_rank_in_cluster(), steps = w.ranks / 16, units = ceil_div(p.out, 64U);
    const uint32_t first = units * rank / cluster + t.warp(), end = units * (rank + 1) / cluster;
    b_queue<Thread> queue{t, static_cast<const vec16*>(w.b) + size_t{first} * steps * 4 * 32 + t.lane(),
                          size_t{warps - 1} * steps * 4 * 32, steps,
                          first < end ? ceil_div(end - first, warps) : 0};
    if constexpr (Stage != lora_stage::shrink)
      for (uint32_t i = 0; i < depth; ++i) queue.push();

    float* sums = t.template shared<float>(queue_bytes);  // of this block: [parts, rows, ranks]
    if constexpr (Stage != lora_stage::expand) multiply_a<Columns>(t, tile, w, sums);
    t.grid_dependency_sync();  // also for threads without inputs, as they all go on to y
    if constexpr (Stage != lora_stage::expand) t.cluster_arrive();
    vec16 y[Columns][2] = {};  // loaded after the fence of the arrival, which would wait for it
    if constexpr (Stage != lora_stage::shrink && y_early<Columns>) load_y(t, tile, p, first, end, y);
    if constexpr (Stage != lora_stage::expand) t.cluster_wait();
    uint32_t* v = reinterpret_cast<uint32_t*>(sums + size_t{larger(max_ranks, warps * 16)} * tile_rows);
    gather_v(t, tile, w, sums, v);
    if constexpr (Stage == lora_stage::both) t.cluster_arrive_relaxed();  // read the others' sums
    if constexpr (Stage != lora_stage::shrink) {
      t.sync();
      multiply_b(t, tile, w, v, queue, first, end, y);
    }
    if constexpr (Stage == lora_stage::shrink) t.cluster_arrive_relaxed();
    if constexpr (Stage != lora_stage::expand) t.cluster_wait();
  }

  /// sums [rows, ranks] = x A^T over this block's inputs. A warp has 16 ranks; if there are more warps than
  /// needed, they split the inputs.
  template <uint32_t Columns, class Thread>
  TROUPE_DEVICE void multiply_a(Thread t, const lora_tile& tile, const lora_matrices& w, float* sums) const {
    const uint32_t groups = ceil_div(in, 32U), steps = w.ranks / 16;  // groups of 32 inputs
    const uint32_t begin = groups * t.block_rank_in_cluster() / cluster;
    const uint32_t count = groups * (t.block_rank_in_cluster() + 1) / cluster - begin;
    const uint32_t parts = steps < warps ? warps / steps : 1;
    const uint32_t g = t.lane() / 4, q = t.lane() % 4;
    for (uint32_t unit = t.warp(); unit < steps * parts; unit += warps) {
      const uint32_t step = unit / parts, part = unit % parts;
      const uint32_t last = begin + count * (part + 1) / parts;
      const vec16* a = static_cast<const vec16*>(w.a) + size_t{step} * groups * 2 * 32 + t.lane();
      float d[Columns][4] = {};
      for (uint32_t k = begin + count * part / parts; k < last; k += ahead) {
        vec16 of_a[ahead][2];
        TROUPE_UNROLL for (uint32_t i = 0; i < ahead; ++i) {
          TROUPE_UNROLL for (uint32_t s = 0; s < 2; ++s) of_a[i][s] =
              k + i < last ? t.load_read_only(a + (size_t{k + i} * 2 + s) * 32) : vec16{};
        }
        t.grid_dependency_sync();  // before the first use of x
        TROUPE_UNROLL for (uint32_t column = 0; column < Columns; ++column) {
          const uint32_t row = column * 8 + g;
          const auto* x_row = static_cast<const uint16_t*>(x) + (tile.first_row + row) * x_stride + q * 8;
          vec16 of_x[ahead];
          TROUPE_UNROLL for (uint32_t i = 0; i < ahead; ++i) {
            const bool there = row < tile.rows && k + i < last && (k + i) * 32 + q * 8 < in;
            of_x[i] = there ? t.load(x_row + (k + i) * 32) : vec16{};
          }
          TROUPE_UNROLL for (uint32_t i = 0; i < ahead; ++i) {
            TROUPE_UNROLL for (uint32_t s = 0; s < 2; ++s)
                t.template mma<E>(d[column], of_a[i][s].word, of_x[i].word[2 * s], of_x[i].word[2 * s + 1]);
          }
        }
      }
      float* to = sums + (size_t{part} * tile_rows) * w.ranks + step * 16 + g;
      TROUPE_UNROLL for (uint32_t column = 0; column < Columns; ++column) {
        TROUPE_UNROLL for (uint32_t i = 0; i < 4; ++i)
            to[(column * 8 + q * 2 + i % 2) * w.ranks + i / 2 * 8] = d[column][i];
      }
    }
    if (parts == 1) return;
    t.sync();
    for (uint32_t i = t.index(); i < tile.rows * w.ranks; i += threads) {
      float sum = sums[i];
      for (uint32_t part = 1; part < parts; ++part) sum += sums[part * tile_rows * w.ranks + i];
      sums[i] = sum;
    }
  }
  static constexpr uint32_t ahead = 4;  // groups of inputs that a lane loads before it multiplies

  /// Adds the sums of all blocks of the cluster, in their order, to v in shared memory, [2, rows, ranks] of
  /// E: the rounded numbers, and the rounding errors. Single stages write v to memory or read it there.
  template <class Thread>
  TROUPE_DEVICE void gather_v(Thread t, const lora_tile& tile, const lora_matrices& w, const float* sums,
                              uint32_t* v) const {
    if (Stage == lora_stage::shrink && t.block_rank_in_cluster() > 0) return;
    const uint32_t pairs = w.ranks / 2;
    for (uint32_t i = t.index(); i < tile.rows * pairs; i += threads) {
      float* in_memory = projections[t.block_z()].v;
      if constexpr (Stage != lora_stage::both)
        in_memory += size_t{tile.first_row + i / pairs} * v_stride + i % pairs * 2;
      float_pair sum = {0, 0};
      if constexpr (Stage == lora_stage::expand) {
        sum = {in_memory[0], in_memory[1]};
      } else {
        TROUPE_UNROLL for (uint32_t rank = 0; rank < cluster; ++rank) {
          float_pair theirs;
          memcpy(&theirs, __builtin_assume_aligned(t.map_shared_rank(sums + size_t{i} * 2, rank), 8), 8);
          sum.low += theirs.low, sum.high += theirs.high;
        }
      }
      if constexpr (Stage == lora_stage::shrink) {
        in_memory[0] = sum.low, in_memory[1] = sum.high;
      } else {
        const uint32_t rounded = t.template pack<E>(sum.low, sum.high);
        const float_pair kept = t.template unpack<E>(rounded);
        const uint32_t at = place(i / pairs, i % pairs, pairs);
        v[at] = rounded;
        v[tile_rows * pairs + at] = t.template pack<E>(sum.low - kept.low, sum.high - kept.high);
      }
    }
  }

  /// Position of a pair of a row of v: the pairs of eight rows in one step are in different banks.
  TROUPE_DEVICE static uint32_t place(uint32_t row, uint32_t pair, uint32_t pairs) {
    const uint32_t shift = pairs % 32 == 0 ? 0 : pairs % 16 == 0 ? 1 : 2;
    return row * pairs + (pair ^ ((row % 8) >> shift) * 4);
  }

  /// Writes zeros to a tile's rows of y; each block of the cluster writes a share.
  template <class Thread>
  TROUPE_DEVICE void clear_y(Thread t, const lora_tile& tile) const {
    const projection& p = projections[t.block_z()];
    for (uint32_t row = 0; row < tile.rows; ++row) {
      auto* to = static_cast<uint16_t*>(p.y) + (tile.first_row + row) * p.y_stride;
      for (uint32_t n = (t.block_rank_in_cluster() * threads + t.index()) * 8; n < p.out;
           n += cluster * threads * 8)
        t.store(to + n, vec16{});
    }
  }

  /// Loads y for a unit of 64 outputs: eight numbers each of rows 2q, 2q + 1, and of the same rows of each
  /// further eight.
  template <uint32_t Columns, class Thread>
  TROUPE_DEVICE void load_y(Thread t, const lora_tile& tile, const projection& p, uint32_t unit, uint32_t end,
                            vec16 (&y)[Columns][2]) const {
    TROUPE_UNROLL for (uint32_t column = 0; column < Columns; ++column) {
      TROUPE_UNROLL for (uint32_t i = 0; i < 2; ++i) {
        uint16_t* from = place_of_y(t, tile, p, unit, end, column * 8 + i);
        y[column][i] = adds && from != nullptr ? t.load(from) : vec16{};
      }
    }
  }
  /// Null if the row does not exist.
  template <class Thread>
  TROUPE_DEVICE static uint16_t* place_of_y(Thread t, const lora_tile& tile, const projection& p,
                                            uint32_t unit, uint32_t end, uint32_t row) {
    const uint32_t n = unit * 64 + t.lane() / 4 * 8;
    row += t.lane() % 4 * 2;
    if (unit >= end || n >= p.out || row >= tile.rows) return nullptr;
    return static_cast<uint16_t*>(p.y) + (tile.first_row + row) * p.y_stride + n;
  }

  /// True if the next unit of y is loaded while the current one is processed; with many rows the registers do
  /// not suffice.
  template <uint32_t Columns>
  static constexpr bool y_early = Columns == 1;

  /// y = (y or 0) + scale v B, in units of 64 outputs. y: unit `first`, if it is loaded ahead.
  template <uint32_t Columns, class Thread>
  TROUPE_DEVICE void multiply_b(Thread t, const lora_tile& tile, const lora_matrices& w, const uint32_t* v,
                                b_queue<Thread>& queue, uint32_t first, uint32_t end,
                                vec16 (&y)[Columns][2]) const {
    const projection& p = projections[t.block_z()];
    const uint32_t g = t.lane() / 4, q = t.lane() % 4, pairs = w.ranks / 2;
    for (uint32_t unit = first; unit < end; unit += warps) {
      vec16 next[Columns][2] = {};
      if constexpr (y_early<Columns>) load_y(t, tile, p, unit + warps, end, next);
      float d[4][Columns][4] = {};
      for (uint32_t step = 0; step < w.ranks / 16; ++step) {
        vec16 of_b[4];
        queue.pop(of_b);
        TROUPE_UNROLL for (uint32_t column = 0; column < Columns; ++column) {
          const uint32_t at = place(column * 8 + g, step * 8 + q, pairs);
          TROUPE_UNROLL for (uint32_t half = 0; half < 2; ++half) {
            const uint32_t* of_v = v + half * tile_rows * pairs;
            TROUPE_UNROLL for (uint32_t m = 0; m < 4; ++m)
                t.template mma<E>(d[m][column], of_b[m].word, of_v[at], of_v[at ^ 4]);
          }
        }
      }
      if constexpr (!y_early<Columns>) load_y(t, tile, p, unit, end, y);
      TROUPE_UNROLL for (uint32_t column = 0; column < Columns; ++column) {
        TROUPE_UNROLL for (uint32_t i = 0; i < 2; ++i) {
          TROUPE_UNROLL for (uint32_t m = 0; m < 4; ++m) {
            uint32_t& two = y[column][i].word[m];
            const float_pair before = t.template unpack<E>(two);
            two = t.template pack<E>(before.low + w.scale * d[m][column][i],
                                     before.high + w.scale * d[m][column][2 + i]);
          }
          uint16_t* to = place_of_y(t, tile, p, unit, end, column * 8 + i);
          if (to != nullptr) t.store(to, y[column][i]);
          y[column][i] = next[column][i];
        }
      }
    }
  }
};

}  // namespace troupe::cuda
