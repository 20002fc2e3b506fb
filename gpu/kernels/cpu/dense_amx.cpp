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

/// The two parts of 16 numbers, or of the first `count` and zeros.
struct bf16_parts {
  __m256i first, rest;
};
inline bf16_parts split(const float* x, int count) {
  const avx512::vec all = count >= 16 ? avx512::load(x)
                          : count > 0 ? avx512::load_part(x, count)
                                      : avx512::splat(0);
  const __m256i rounded = avx512::to_bf16(all);
  // Infinity, which the largest numbers are rounded to, and NaN have no rest.
  const avx512::vec first = avx512::from_bf16(rounded), zero = first - first;
  const __mmask16 finite = _mm512_cmp_ps_mask(zero.v, zero.v, _CMP_ORD_Q);
  const avx512::vec rest = {_mm512_maskz_sub_ps(finite, all.v, first.v)};
  return {rounded, avx512::to_bf16(rest)};
}

/// `count` inputs of a row, at most 32.
void split_row(const float* x, size_t count, std::byte* high, std::byte* low) {
  for (int half = 0; half < 2; ++half) {
    const auto parts = split(x + 16 * half, static_cast<int>(count) - 16 * half);
    _mm256_store_si256(reinterpret_cast<__m256i*>(high) + half, parts.first);
    _mm256_store_si256(reinterpret_cast<__m256i*>(low) + half, parts.rest);
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

/// Packs one row as `run_few_rows` takes it.
void pack_row(const float* x, size_t in, size_t steps, float* to) {
  alignas(64) float first[16], rest[16];
  for (size_t k = 0; k < steps * tile_inputs; k += 16) {
    const auto parts = split(x + k, static_cast<int>(in) - static_cast<int>(k));
    avx512::store(first, avx512::from_bf16(parts.first));
    avx512::store(rest, avx512::from_bf16(parts.rest));
    for (int i = 0; i < 16; i += 2, to += 4)
      to[0] = first[i], to[1] = first[i + 1], to[2] = rest[i], to[3] = rest[i + 1];
  }
}

/// One row or two, which wait for memory: without tiles, and with the same bits. Of 32 inputs a tile adds the
/// products of the even ones in order, those of the odd ones, both sums, and the result to the sum before.
/// P panels at once, so that more memory is on its way.
/// x: [row][pair of inputs][first part of the even and the odd one, rests].
template <int R, int P>
void run_few_rows(const dense_args& a, const float* x, size_t steps, size_t panel) {
  constexpr int halves = 2 * P;
  constexpr size_t pairs = tile_inputs / 2, fetched_bytes = 3072;
  constexpr unsigned no_denormals = 0x8040;  // FTZ and DAZ
  const unsigned mode = _mm_getcsr();
  _mm_setcsr(mode | no_denormals);
  const std::byte* weights[P];
  for (int p = 0; p < P; ++p) weights[p] = a.w->panel(panel + static_cast<size_t>(p));
  avx512::vec sums[R][halves];
  for (int r = 0; r < R; ++r)
    for (int h = 0; h < halves; ++h) sums[r][h] = avx512::splat(0);
  for (size_t step = 0; step < steps; ++step) {
    avx512::vec parts[R][halves][4];
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 16
      for (int i = 0; i < 4 * halves; ++i) parts[r][i / 4][i % 4] = avx512::splat(0);
    }
#pragma GCC unroll 1
    for (size_t pair = 0; pair < pairs; ++pair) {
      const size_t at = (step * pairs + pair) * panel_row_bytes;
#pragma GCC unroll 4
      for (int h = 0; h < halves; ++h) {
        const std::byte* w = weights[h / 2] + at + 64 * (h % 2);
        _mm_prefetch(w + fetched_bytes, _MM_HINT_T0);
        const avx512::vec even = avx512::load_lower(reinterpret_cast<const uint32_t*>(w)),
                          odd = avx512::load_upper(reinterpret_cast<const uint32_t*>(w));
#pragma GCC unroll 2
        for (int r = 0; r < R; ++r) {
          const float* in = x + ((static_cast<size_t>(r) * steps + step) * pairs + pair) * 4;
          auto& p = parts[r][h];
          p[0] = avx512::fma(avx512::splat(in[0]), even, p[0]);
          p[1] = avx512::fma(avx512::splat(in[1]), odd, p[1]);
          p[2] = avx512::fma(avx512::splat(in[2]), even, p[2]);
          p[3] = avx512::fma(avx512::splat(in[3]), odd, p[3]);
        }
      }
    }
#pragma GCC unroll 2
    for (int r = 0; r < R; ++r) {
#pragma GCC unroll 4
      for (int h = 0; h < halves; ++h) {
        const auto& p = parts[r][h];
        sums[r][h] = sums[r][h] + (p[0] + p[1]);
        sums[r][h] = sums[r][h] + (p[2] + p[3]);
      }
    }
  }
  _mm_setcsr(mode);
  for (int p = 0; p < P; ++p) {
    alignas(64) float out[2][256];
    for (int r = 0; r < R; ++r)
      for (int half = 0; half < 2; ++half) avx512::store(&out[half][16 * r], sums[r][2 * p + half]);
    finish_block(a, 0, (panel + static_cast<size_t>(p)) * packed_weights::panel_outputs, out);
  }
}

/// Some panels and all of one row or two.
void run_few_rows_job(const dense_args& a, const float* x, size_t steps, size_t panel, size_t end) {
  if (a.rows == 1)
    for (; panel + 1 < end; panel += 2) run_few_rows<1, 2>(a, x, steps, panel);
  for (; panel < end; ++panel)
    a.rows == 1 ? run_few_rows<1, 1>(a, x, steps, panel) : run_few_rows<2, 1>(a, x, steps, panel);
}

TROUPE_END_ISA

/// One row or two.
void dense_few_rows(const dense_args& a, size_t steps, bool worth_threads) {
  const size_t panels = a.w->panels(), floats = steps * tile_inputs * 2;
  auto* x = reinterpret_cast<float*>(room_for_inputs(a.rows * floats * sizeof(float)));
  for (size_t r = 0; r < a.rows; ++r) pack_row(a.x + r * a.x_stride, a.w->in(), steps, x + r * floats);
#pragma omp parallel for schedule(dynamic) if (worth_threads)
  for (size_t p = 0; p < panels; p += panels_at_once)
    run_few_rows_job(a, x, steps, p, std::min(panels, p + panels_at_once));
}

}  // namespace

void dense_amx(const dense_args& a) {
  const size_t in = a.w->in(), steps = a.w->padded_in() / tile_inputs, panels = a.w->panels();
  const size_t blocks = (a.rows + tile_rows - 1) / tile_rows;
  const bool worth_threads = a.rows * in * a.w->out() > size_t{1} << 19;
  if (a.rows <= 2) return dense_few_rows(a, steps, worth_threads);
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
