#include "gpu/kernels/cpu/dense_bf16.hpp"

#ifdef __x86_64__
#include <algorithm>
#include <cstdint>

#include "gpu/kernels/cpu/dense_job.hpp"
#include "gpu/kernels/cpu/simd_bf16.hpp"

namespace troupe::kernels {
namespace avx512_bf16 {
namespace {

constexpr size_t step_inputs = 32, step_pairs = 16, row_step_bytes = 64;  // of a row's 32 inputs
constexpr size_t pair_bytes = packed_weights::panel_outputs * 4;          // of a panel's pair of inputs
constexpr size_t tile_rows = 12, tiles_at_once = 22, panels_at_once = 4;  // of a thread's job
constexpr size_t ahead_bytes = 6144;                                      // prefetched

TROUPE_BEGIN_AVX512_BF16

inline vec load_inputs(const float* x, size_t i, size_t n) { return i < n ? load_upto(x, i, n) : splat(0); }

/// Packs a tile's rows: [32 inputs][rows][32], BF16.
void pack_tile(const dense_args& a, size_t first, size_t rows, size_t steps, std::byte* to) {
  const size_t in = a.w->in();
  for (size_t k = 0; k < steps * step_inputs; k += step_inputs) {
    for (size_t r = 0; r < rows; ++r, to += row_step_bytes) {
      const float* x = a.x + (first + r) * a.x_stride;
      store_pairs(to, to_pairs(load_inputs(x, k, in), load_inputs(x, k + lanes, in)));
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
  vec sums[R][halves];
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int h = 0; h < halves; ++h) sums[r][h] = splat(0);
  }
  const std::byte *x = t.x, *weights = t.weights;
  for (size_t step = 0; step < t.steps; ++step, x += R * row_step_bytes) {
#pragma GCC unroll 1
    for (size_t pair = 0; pair < step_pairs; ++pair, weights += pair_bytes) {
      pairs w[halves];
#pragma GCC unroll 8
      for (int h = 0; h < halves; ++h) {
        const std::byte* at = weights + static_cast<size_t>(h / 2) * t.panel_bytes + 64 * (h % 2);
        prefetch_to_l2(at + ahead_bytes);
        w[h] = load_pairs(at);
      }
#pragma GCC unroll 12
      for (int r = 0; r < R; ++r) {
        const pairs inputs = splat_pair(x + static_cast<size_t>(r) * row_step_bytes + 4 * pair);
#pragma GCC unroll 8
        for (int h = 0; h < halves; ++h) sums[r][h] = dot(inputs, w[h], sums[r][h]);
      }
    }
  }
#pragma GCC unroll 12
  for (int r = 0; r < R; ++r) {
#pragma GCC unroll 8
    for (int h = 0; h < halves; ++h) {
      const auto column = static_cast<size_t>(16 * h);
      if (column >= t.columns) break;
      vec sum = sums[r][h];
      if (t.bias != nullptr) sum = sum + load_upto(t.bias, column, t.columns);
      store_upto(t.y + static_cast<size_t>(r) * t.y_stride, column, t.columns, sum);
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

void run_all_rows(const dense_args& a) {
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

}  // namespace
}  // namespace avx512_bf16

void dense_bf16(const dense_args& a) { avx512_bf16::run_all_rows(a); }

}  // namespace troupe::kernels
#endif
