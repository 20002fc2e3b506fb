// RoPE of new queries and keys, fused with the write of keys and values to their pages. A separate kernel
// computes the angles once a step, for all layers.
//
// Four blocks for each row; each number is read and written once, 16 bytes at a time.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"
#include "gpu/kernels/cuda/kv_pages.hpp"

namespace troupe::cuda {

struct rope_angles_kernel {
  static constexpr uint32_t threads = 64, cluster = 1;

  const uint32_t* rows = nullptr;            ///< [1]; blocks beyond them do nothing
  const uint32_t* positions = nullptr;       ///< [rows], in tokens from the sequence's start
  const float* frequencies = nullptr;        ///< [half], radians a token
  uint32_t half = 0;                         ///< head_dim / 2
  float *cosine = nullptr, *sine = nullptr;  ///< [rows, half], written

  grid_size grid(uint32_t max_rows) const { return {max_rows, 1, 1}; }
  size_t shared_bytes() const { return 0; }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.launch_dependents();
    t.grid_dependency_sync();
    if (t.block() >= *rows) return;
    for (uint32_t i = t.index(); i < half; i += threads) {
      const size_t at = size_t{t.block()} * half + i;
      t.sincos(static_cast<float>(positions[t.block()]) * frequencies[i], sine[at], cosine[at]);
    }
  }
};

/// In the halves convention (gpu/kernels/rope.hpp): numbers i and i + head_dim / 2 of a head are a pair.
template <element E>
struct rope_append_kernel {
  static constexpr uint32_t threads = 256, cluster = 1;
  static constexpr uint32_t parts = 4;  // blocks per row, for parallelism

  const uint32_t* rows = nullptr;                  ///< [1]; blocks beyond them do nothing
  const uint32_t* row_sequence = nullptr;          ///< [rows], of `table`
  const uint32_t* positions = nullptr;             ///< [rows]
  const float *cosine = nullptr, *sine = nullptr;  ///< [rows, head_dim / 2], of rope_angles_kernel
  void* qkv = nullptr;  ///< [rows, q | k | v], contiguous, E; queries are rotated in place
  uint32_t heads = 0;
  kv_pages kv;  ///< of E, written; head_dim a multiple of 16
  page_table table;
  uint32_t layer = 0;

  grid_size grid(uint32_t max_rows) const { return {max_rows, parts, 1}; }
  size_t shared_bytes() const { return 0; }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.launch_dependents();
    // the previous kernel does not write the step's tables: looks up the page while that one ends
    const uint32_t row = t.block();
    uint32_t position = 0, number = 0;
    const bool idle = row >= *rows;
    if (!idle) position = positions[row], number = table.page(row_sequence[row], position, kv.page_tokens);
    t.grid_dependency_sync();
    if (idle) return;
    const uint32_t dim = kv.head_dim, half = dim / 2, first = t.block_y() * threads + t.index();
    auto* q = static_cast<uint16_t*>(qkv) + size_t{row} * (heads + 2 * kv.kv_heads) * dim;
    uint16_t* page = kv.page(number, layer) + position % kv.page_tokens * dim;
    const size_t head_stride = size_t{kv.page_tokens} * dim;  // from head to head of a page
    // eight pairs at a time
    for (uint32_t i = first; i < (heads + kv.kv_heads) * (half / 8); i += parts * threads) {
      const uint32_t head = i / (half / 8), at = i % (half / 8) * 8;
      uint16_t* from = q + head * dim + at;
      vec16 low = t.load(from), high = t.load(from + half);
      turn(t, low, high, size_t{row} * half + at);
      uint16_t* to = head < heads ? from : page + (head - heads) * head_stride + at;
      t.store(to, low), t.store(to + half, high);
    }
    const uint16_t* v = q + (heads + kv.kv_heads) * dim;
    for (uint32_t i = first; i < kv.kv_heads * (dim / 8); i += parts * threads) {
      const uint32_t head = i / (dim / 8), at = i % (dim / 8) * 8;
      t.store(page + (kv.kv_heads + head) * head_stride + at, t.load(v + head * dim + at));
    }
  }

 private:
  template <class Thread>
  TROUPE_DEVICE void turn(Thread t, vec16& low, vec16& high, size_t angle) const {
    float c[8], s[8];
    const vec16 loaded[4] = {t.load(cosine + angle), t.load(cosine + angle + 4), t.load(sine + angle),
                             t.load(sine + angle + 4)};
    memcpy(c, loaded, sizeof c), memcpy(s, loaded + 2, sizeof s);
    TROUPE_UNROLL for (uint32_t j = 0; j < 4; ++j) {
      const float_pair a = t.template unpack<E>(low.word[j]), b = t.template unpack<E>(high.word[j]);
      low.word[j] = t.template pack<E>(a.low * c[2 * j] - b.low * s[2 * j],
                                       a.high * c[2 * j + 1] - b.high * s[2 * j + 1]);
      high.word[j] = t.template pack<E>(b.low * c[2 * j] + a.low * s[2 * j],
                                        b.high * c[2 * j + 1] + a.high * s[2 * j + 1]);
    }
  }
};

}  // namespace troupe::cuda
