#include "gpu/kernels/cpu/dense_bf16.hpp"

#ifdef __x86_64__
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "gpu/kernels/cpu/dense_job.hpp"
#include "gpu/kernels/cpu/simd.hpp"

// clang-format off
#ifdef __clang__
#define TROUPE_BEGIN_BF16 \
  _Pragma("clang attribute push(__attribute__((target(\"avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c\"))), apply_to = function)")
#else
#define TROUPE_BEGIN_BF16     \
  _Pragma("GCC push_options") \
      _Pragma("GCC target(\"avx512bf16,avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,f16c\")")
#endif
// clang-format on

namespace troupe::kernels {
namespace {

constexpr size_t step_inputs = 32, step_pairs = 16, row_step_bytes = 64;  // of a row's 32 inputs
constexpr size_t pair_bytes = packed_weights::panel_outputs * 4;          // of a panel's pair of inputs
constexpr size_t tile_rows = 12, tiles_at_once = 22, panels_at_once = 4;  // of a thread's job
constexpr size_t ahead_bytes = 3072;                                      // prefetched

TROUPE_BEGIN_BF16

inline avx512::vec load_inputs(const float* x, size_t i, size_t n) {
  return i < n ? avx512::load_upto(x, i, n) : avx512::splat(0);
}

/// Packs a tile's rows: [32 inputs][rows][32], BF16.
void pack_tile(const dense_args& a, size_t first, size_t rows, size_t steps, std::byte* to) {
  const size_t in = a.w->in();
  for (size_t k = 0; k < steps * step_inputs; k += step_inputs) {
    for (size_t r = 0; r < rows; ++r, to += row_step_bytes) {
      const float* x = a.x + (first + r) * a.x_stride;
      const __m512bh both = _mm512_cvtne2ps_pbh(load_inputs(x, k + 16, in).v, load_inputs(x, k, in).v);
      std::memcpy(to, &both, sizeof both);
    }
  }
}

struct bf16_tile {
  const std::byte* x;  ///< packed
  size_t steps;
  const std::byte* weights;
  size_t panel_bytes;
  float* y;
  size_t y_stride;
  const float* bias;
  size_t columns;  ///< remaining in y and bias
};

/// R rows and P panels; the sums stay in registers.
template <int R, int P>
TROUPE_TILE void run_bf16_tile(const bf16_tile& t) {
  constexpr int halves = 2 * P;
  __m512 sums[R][halves];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int h = 0; h < halves; ++h) sums[r][h] = _mm512_setzero_ps();
  }
  const std::byte *x = t.x, *weights = t.weights;
  for (size_t step = 0; step < t.steps; ++step, x += R * row_step_bytes) {
#pragma GCC unroll 1
    for (size_t pair = 0; pair < step_pairs; ++pair, weights += pair_bytes) {
      __m512bh w[halves];
#pragma GCC unroll 8
      for (int h = 0; h < halves; ++h) {
        const std::byte* at = weights + static_cast<size_t>(h / 2) * t.panel_bytes + 64 * (h % 2);
        avx512::prefetch(at + ahead_bytes);
        std::memcpy(&w[h], at, sizeof w[h]);
      }
#pragma GCC unroll 12
      for (int r = 0; r < R; ++r) {
        int both = 0;
        std::memcpy(&both, x + static_cast<size_t>(r) * row_step_bytes + 4 * pair, sizeof both);
        const auto inputs = (__m512bh)_mm512_set1_epi32(both);
#pragma GCC unroll 8
        for (int h = 0; h < halves; ++h) sums[r][h] = _mm512_dpbf16_ps(sums[r][h], inputs, w[h]);
      }
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int h = 0; h < halves; ++h) {
      const auto column = static_cast<size_t>(16 * h);
      if (column >= t.columns) break;
      avx512::vec sum{sums[r][h]};
      if (t.bias != nullptr) sum = sum + avx512::load_upto(t.bias, column, t.columns);
      avx512::store_upto(t.y + static_cast<size_t>(r) * t.y_stride, column, t.columns, sum);
    }
  }
}

using run_tile_function = void (*)(const bf16_tile&);
/// By rows - 1: as many panels as registers, so that few rows wait for more memory at once.
constexpr struct {
  size_t panels;
  run_tile_function run, run_one_panel;
} tiles_of_rows[tile_rows] = {
    {4, run_bf16_tile<1, 4>, run_bf16_tile<1, 1>},   {4, run_bf16_tile<2, 4>, run_bf16_tile<2, 1>},
    {2, run_bf16_tile<3, 2>, run_bf16_tile<3, 1>},   {2, run_bf16_tile<4, 2>, run_bf16_tile<4, 1>},
    {2, run_bf16_tile<5, 2>, run_bf16_tile<5, 1>},   {2, run_bf16_tile<6, 2>, run_bf16_tile<6, 1>},
    {1, run_bf16_tile<7, 1>, run_bf16_tile<7, 1>},   {1, run_bf16_tile<8, 1>, run_bf16_tile<8, 1>},
    {1, run_bf16_tile<9, 1>, run_bf16_tile<9, 1>},   {1, run_bf16_tile<10, 1>, run_bf16_tile<10, 1>},
    {1, run_bf16_tile<11, 1>, run_bf16_tile<11, 1>}, {1, run_bf16_tile<12, 1>, run_bf16_tile<12, 1>}};

TROUPE_END_ISA

/// Rows from `first` on, and some panels.
void run_bf16_rows(const dense_args& a, const std::byte* x, size_t first, size_t panel, size_t end) {
  const auto& tiles = tiles_of_rows[std::min(tile_rows, a.rows - first) - 1];
  const size_t steps = a.w->padded_in() / step_inputs;
  for (size_t past = panel; panel < end; panel = past) {
    const bool wide = panel + tiles.panels <= end;
    past += wide ? tiles.panels : 1;
    const size_t column = panel * packed_weights::panel_outputs;
    (wide ? tiles.run : tiles.run_one_panel)({.x = x + first * steps * row_step_bytes,
                                              .steps = steps,
                                              .weights = a.w->panel(panel),
                                              .panel_bytes = a.w->panel_bytes(),
                                              .y = a.y + first * a.y_stride + column,
                                              .y_stride = a.y_stride,
                                              .bias = a.bias != nullptr ? a.bias + column : nullptr,
                                              .columns = a.w->out() - column});
  }
}

}  // namespace

void dense_bf16(const dense_args& a) {
  const size_t steps = a.w->padded_in() / step_inputs, panels = a.w->panels();
  const size_t tiles = (a.rows + tile_rows - 1) / tile_rows;
  const bool worth_threads = a.rows * a.w->in() * a.w->out() > size_t{1} << 18;
  std::byte* x = room_for_inputs(a.rows * steps * row_step_bytes);
#pragma omp parallel for schedule(static) if (worth_threads && tiles > 1)
  for (size_t t = 0; t < tiles; ++t) {
    const size_t first = t * tile_rows;
    pack_tile(a, first, std::min(tile_rows, a.rows - first), steps, x + first * steps * row_step_bytes);
  }
  const size_t wide = (panels + panels_at_once - 1) / panels_at_once,
               tall = (tiles + tiles_at_once - 1) / tiles_at_once;
  // dynamic: other processes may use the cores, too
#pragma omp parallel for schedule(dynamic) if (worth_threads)
  for (size_t i = 0; i < wide * tall; ++i) {
    const size_t begin = i / wide * tiles_at_once, panel = i % wide * panels_at_once;
    for (size_t t = begin; t < std::min(tiles, begin + tiles_at_once); ++t)
      run_bf16_rows(a, x, t * tile_rows, panel, std::min(panels, panel + panels_at_once));
  }
}

}  // namespace troupe::kernels
#endif
