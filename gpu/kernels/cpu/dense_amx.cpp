#include "gpu/kernels/cpu/dense_amx.hpp"

#ifdef __x86_64__
#include <algorithm>
#include <cstdint>

#include "gpu/kernels/cpu/dense_job.hpp"
#include "gpu/kernels/cpu/simd.hpp"

// clang-format off
#ifdef __clang__
#define TROUPE_BEGIN_AMX \
  _Pragma("clang attribute push(__attribute__((target(\"amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c\"))), apply_to = function)")
#else
#define TROUPE_BEGIN_AMX      \
  _Pragma("GCC push_options") \
      _Pragma("GCC target(\"amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c\")")
#endif
// clang-format on

namespace troupe::kernels {
namespace {

constexpr size_t tile_rows = 16, tile_inputs = 32, tile_bytes = 1024, tile_row_bytes = 64;
constexpr size_t panel_step =
    tile_inputs * packed_weights::panel_outputs * 2;                   // bytes of a panel's 32 inputs
constexpr size_t panel_row_bytes = packed_weights::panel_outputs * 4;  // of a pair of inputs
constexpr size_t panels_at_once = 4, blocks_at_once = 8;               // of a thread's job
constexpr size_t ahead_bytes = 8192;                                   // prefetched

/// Inputs in blocks of 16 rows: [block][32 inputs][first part, rest][16][32], BF16.
struct packed_rows {
  const std::byte* data;
  size_t steps;  ///< tiles of 32 inputs

  const std::byte* block(size_t index) const { return data + index * steps * 2 * tile_bytes; }
};

TROUPE_BEGIN_AMX

struct alignas(64) tile_config {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {};
  uint8_t rows[16] = {};
};

/// Sums in tiles 0 to 3, inputs in 4 and 5, weights in 6 and 7. With two blocks of rows the first has 16, and
/// tiles 0, 1 and 4. `rows`: of the last block.
void configure_tiles(size_t rows, bool two_blocks) {
  tile_config c;
  for (int tile = 0; tile < 8; ++tile) c.row_bytes[tile] = tile_row_bytes, c.rows[tile] = tile_rows;
  const auto last = static_cast<uint8_t>(rows);
  c.rows[2] = c.rows[3] = c.rows[5] = last;
  if (!two_blocks) c.rows[0] = c.rows[1] = c.rows[4] = last;
  asm volatile("" : : "m"(c) : "memory");  // GCC 12 takes the next for a use of eight bytes
  _tile_loadconfig(&c);
}

/// Inputs `first` to `first` + 32 of a row.
void split_row(const float* x, size_t count, std::byte* high, std::byte* low) {
  for (int half = 0; half < 2; ++half) {
    const auto left = static_cast<int>(count) - 16 * half;
    const avx512::vec all = left >= 16 ? avx512::load(x + 16 * half)
                            : left > 0 ? avx512::load_part(x + 16 * half, left)
                                       : avx512::splat(0);
    const __m256i rounded = avx512::to_bf16(all);
    // Infinity, which the largest numbers are rounded to, and NaN have no rest.
    const avx512::vec first = avx512::from_bf16(rounded), zero = first - first;
    const __mmask16 finite = _mm512_cmp_ps_mask(zero.v, zero.v, _CMP_ORD_Q);
    const avx512::vec rest = {_mm512_maskz_sub_ps(finite, all.v, first.v)};
    _mm256_store_si256(reinterpret_cast<__m256i*>(high) + half, rounded);
    _mm256_store_si256(reinterpret_cast<__m256i*>(low) + half, avx512::to_bf16(rest));
  }
}

/// Packs one block of rows.
void pack_block(const dense_args& a, size_t block, size_t steps, std::byte* to) {
  const size_t first = block * tile_rows, rows = std::min(tile_rows, a.rows - first), in = a.w->in();
  for (size_t step = 0; step < steps; ++step, to += 2 * tile_bytes) {
    const size_t k = step * tile_inputs;
    for (size_t r = 0; r < rows; ++r)
      split_row(a.x + (first + r) * a.x_stride + k, std::min(tile_inputs, in - k), to + r * tile_row_bytes,
                to + tile_bytes + r * tile_row_bytes);
  }
}

/// Writes the sums of one block and one panel, which are in two tiles.
void finish_block(const dense_args& a, size_t first_row, size_t column, const float (&sums)[2][256]) {
  const size_t rows = std::min(tile_rows, a.rows - first_row);
  for (size_t r = 0; r < rows; ++r) {
    float* y = a.y + (first_row + r) * a.y_stride;
    for (size_t half = 0; half < 2; ++half) {
      const size_t at = column + 16 * half;
      if (at >= a.w->out()) break;
      avx512::vec sum = avx512::load(&sums[half][16 * r]);
      if (a.bias != nullptr) sum = sum + avx512::load_upto(a.bias, at, a.w->out());
      avx512::store_upto(y, at, a.w->out(), sum);
    }
  }
}

inline void load_weights_of_step(const std::byte* weights) {
  _tile_loadd(6, weights, panel_row_bytes);
  _tile_loadd(7, weights + tile_row_bytes, panel_row_bytes);
}

inline void fetch(const std::byte* weights) {
  for (size_t line = 0; line < panel_step; line += 64)
    _mm_prefetch(weights + ahead_bytes + line, _MM_HINT_T0);
}

/// One block of rows, and one panel or two. Each step waits for the sums of the one before; two panels halve
/// the waits.
template <bool TwoPanels>
void run_block(const dense_args& a, const packed_rows& x, size_t block, size_t panel) {
  const std::byte *rows = x.block(block), *weights = a.w->panel(panel), *more = weights + a.w->panel_bytes();
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (size_t step = 0; step < x.steps; ++step) {
    _tile_loadd(4, rows, tile_row_bytes);
    _tile_loadd(5, rows + tile_bytes, tile_row_bytes);
    fetch(weights);
    load_weights_of_step(weights);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(0, 5, 6);
    _tile_dpbf16ps(1, 5, 7);
    if constexpr (TwoPanels) {
      fetch(more);
      load_weights_of_step(more);
      _tile_dpbf16ps(2, 4, 6);
      _tile_dpbf16ps(3, 4, 7);
      _tile_dpbf16ps(2, 5, 6);
      _tile_dpbf16ps(3, 5, 7);
    }
    rows += 2 * tile_bytes, weights += panel_step, more += panel_step;
  }
  alignas(64) float sums[2][256];
  const size_t column = panel * packed_weights::panel_outputs;
  _tile_stored(0, sums[0], tile_row_bytes);
  _tile_stored(1, sums[1], tile_row_bytes);
  finish_block(a, block * tile_rows, column, sums);
  if constexpr (TwoPanels) {
    _tile_stored(2, sums[0], tile_row_bytes);
    _tile_stored(3, sums[1], tile_row_bytes);
    finish_block(a, block * tile_rows, column + packed_weights::panel_outputs, sums);
  }
}

/// A panel and two blocks of rows.
void run_two_blocks(const dense_args& a, const packed_rows& x, size_t block, size_t panel) {
  const std::byte *rows = x.block(block), *more = x.block(block + 1), *weights = a.w->panel(panel);
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (size_t step = 0; step < x.steps; ++step) {
    fetch(weights);
    load_weights_of_step(weights);
    _tile_loadd(4, rows, tile_row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, more, tile_row_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    _tile_loadd(4, rows + tile_bytes, tile_row_bytes);
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_loadd(5, more + tile_bytes, tile_row_bytes);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
    rows += 2 * tile_bytes, more += 2 * tile_bytes, weights += panel_step;
  }
  alignas(64) float sums[2][256];
  const size_t column = panel * packed_weights::panel_outputs;
  _tile_stored(0, sums[0], tile_row_bytes);
  _tile_stored(1, sums[1], tile_row_bytes);
  finish_block(a, block * tile_rows, column, sums);
  _tile_stored(2, sums[0], tile_row_bytes);
  _tile_stored(3, sums[1], tile_row_bytes);
  finish_block(a, (block + 1) * tile_rows, column, sums);
}

/// Blocks `first` to `end` of all rows, and some panels.
void run_job(const dense_args& a, const packed_rows& x, size_t first, size_t end, size_t panel,
             size_t end_panel) {
  for (; first < end; first += 2) {
    const bool two = first + 1 < end;
    const size_t last = two ? first + 1 : first;
    configure_tiles(std::min(tile_rows, a.rows - last * tile_rows), two);
    size_t p = panel;
    if (!two)
      for (; p + 1 < end_panel; p += 2) run_block<true>(a, x, first, p);
    for (; p < end_panel; ++p) two ? run_two_blocks(a, x, first, p) : run_block<false>(a, x, first, p);
  }
  _tile_release();
}

TROUPE_END_ISA

}  // namespace

void dense_amx(const dense_args& a) {
  const size_t in = a.w->in(), steps = a.w->padded_in() / tile_inputs, panels = a.w->panels();
  const size_t blocks = (a.rows + tile_rows - 1) / tile_rows;
  const bool worth_threads = a.rows * in * a.w->out() > size_t{1} << 19;
  std::byte* room = room_for_inputs(blocks * steps * 2 * tile_bytes);
  const packed_rows x{room, steps};
#pragma omp parallel for schedule(static) if (worth_threads && blocks > 1)
  for (size_t b = 0; b < blocks; ++b) pack_block(a, b, steps, room + b * steps * 2 * tile_bytes);
  const size_t wide = (panels + panels_at_once - 1) / panels_at_once,
               tall = (blocks + blocks_at_once - 1) / blocks_at_once;
#pragma omp parallel for schedule(dynamic) if (worth_threads)
  for (size_t i = 0; i < wide * tall; ++i) {
    const size_t block = i / wide * blocks_at_once, panel = i % wide * panels_at_once;
    run_job(a, x, block, std::min(blocks, block + blocks_at_once), panel,
            std::min(panels, panel + panels_at_once));
  }
}

}  // namespace troupe::kernels
#endif
