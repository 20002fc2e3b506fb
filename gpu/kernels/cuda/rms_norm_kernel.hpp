// RMSNorm of the residual stream, fused with the addition before it: x += delta, out = x / rms(x) * weight.
//
// A block for each row; the row stays in registers between the two passes. Memory traffic per number: 4 bytes
// of x (8 with delta), 2 of delta, 2 of out; the weights come from L2. The order of the sum of squares
// depends only on the width.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

/// E: type of delta, weight and out, 16 bits. The residual stream is float.
template <element E>
struct rms_norm_kernel {
  static constexpr uint32_t threads = 256, cluster = 1;
  static constexpr uint32_t min_blocks = 2;  // blocks of a multiprocessor
  static constexpr uint32_t pieces = 8;      // of eight numbers, that a thread holds
  static constexpr uint32_t max_width = threads * pieces * 8;

  const uint32_t* rows = nullptr;   ///< [1]; blocks beyond it do nothing
  const uint32_t* which = nullptr;  ///< [rows]: row i of out comes from row which[i] of x; null: from row i
  float* x = nullptr;               ///< [.., width], contiguous; written if there is a delta
  const void* delta = nullptr;      ///< like x, or null
  const void* weight = nullptr;     ///< [width]
  void* out = nullptr;              ///< [rows, width], contiguous
  uint32_t width = 0;               ///< a multiple of 8, at most `max_width`
  float epsilon = 0;

  grid_size grid(uint32_t max_rows) const { return {max_rows, 1, 1}; }
  size_t shared_bytes() const { return threads / 32 * sizeof(float); }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.launch_dependents();
    // data that no previous kernel writes is loaded while those end
    const bool idle = t.block() >= *rows;
    const size_t row = idle || which == nullptr ? t.block() : which[t.block()];
    vec16 weights[pieces], added[pieces];
    TROUPE_UNROLL for (uint32_t p = 0; p < pieces; ++p) {
      const uint32_t i = place(t, p);
      if (!idle && i < width) weights[p] = t.load(static_cast<const uint16_t*>(weight) + i);
    }
    t.grid_dependency_sync();
    if (idle) return;
    float* from = x + row * width;
    float held[pieces][8], sum = 0;
    // all loads before the first store, as the compiler cannot exclude aliasing
    TROUPE_UNROLL for (uint32_t p = 0; p < pieces; ++p) {
      const uint32_t i = place(t, p);
      if (i >= width) break;
      const vec16 halves[2] = {t.load(from + i), t.load(from + i + 4)};
      memcpy(held[p], halves, sizeof halves);
      if (delta != nullptr) added[p] = t.load(static_cast<const uint16_t*>(delta) + row * width + i);
    }
    TROUPE_UNROLL for (uint32_t p = 0; p < pieces; ++p) {
      const uint32_t i = place(t, p);
      if (i >= width) break;
      if (delta != nullptr) add(t, added[p], from + i, held[p]);
      TROUPE_UNROLL for (uint32_t j = 0; j < 8; ++j) sum += held[p][j] * held[p][j];
    }
    const float factor = t.rsqrt(over_block(t, sum) / static_cast<float>(width) + epsilon);
    TROUPE_UNROLL for (uint32_t p = 0; p < pieces; ++p) {
      const uint32_t i = place(t, p);
      if (i >= width) break;
      vec16 w = weights[p];
      TROUPE_UNROLL for (uint32_t j = 0; j < 4; ++j) {
        const float_pair scale = t.template unpack<E>(w.word[j]);
        w.word[j] =
            t.template pack<E>(held[p][2 * j] * factor * scale.low, held[p][2 * j + 1] * factor * scale.high);
      }
      t.store(static_cast<uint16_t*>(out) + size_t{t.block()} * width + i, w);
    }
  }

 private:
  /// Position of a thread's piece in the row.
  template <class Thread>
  TROUPE_DEVICE static uint32_t place(Thread t, uint32_t piece) {
    return (piece * threads + t.index()) * 8;
  }
  /// Adds to eight numbers of x, and writes them back.
  template <class Thread>
  TROUPE_DEVICE static void add(Thread t, const vec16& delta, float* to, float (&held)[8]) {
    TROUPE_UNROLL for (uint32_t j = 0; j < 4; ++j) {
      const float_pair pair = t.template unpack<E>(delta.word[j]);
      held[2 * j] += pair.low, held[2 * j + 1] += pair.high;
    }
    vec16 halves[2];
    memcpy(halves, held, sizeof held);
    t.store(to, halves[0]), t.store(to + 4, halves[1]);
  }

  template <class Thread>
  TROUPE_DEVICE float over_block(Thread t, float sum) const {
    TROUPE_UNROLL for (uint32_t mask = 16; mask > 0; mask /= 2) sum += t.shuffle_xor(sum, mask);
    auto* sums = t.template shared<float>();
    if (t.lane() == 0) sums[t.warp()] = sum;
    t.sync();
    sum = 0;
    TROUPE_UNROLL for (uint32_t w = 0; w < threads / 32; ++w) sum += sums[w];
    return sum;
  }
};

}  // namespace troupe::cuda
