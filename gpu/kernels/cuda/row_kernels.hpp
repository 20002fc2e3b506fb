// Row reductions of f32 numbers: softmax, layer normalisation, mean. Row (o, j) of a tensor [outer, n, inner]
// is x[o, :, j].
//
// Lanes: threads per row, a warp, or a block for long rows. Each number is read from memory once if the row
// fits into L1. The order of sums depends only on n.
#pragma once
#include <cmath>

#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

struct row_args {
  const float* x = nullptr;
  float* y = nullptr;
  uint32_t outer = 1, n = 1, inner = 1;
};

/// Threads for a row of n numbers.
constexpr uint32_t row_lanes(uint32_t n) { return n > 1024 ? 256 : 32; }

template <uint32_t Lanes>
struct row_kernel : row_args {
  static constexpr uint32_t cluster = 1, threads = Lanes < 128 ? 128 : Lanes;

  grid_size grid() const { return {ceil_div(outer * inner, threads / Lanes), 1, 1}; }
  size_t shared_bytes() const { return Lanes > 32 ? threads / 32 * sizeof(float) : 0; }

 protected:
  /// A lane's part of the row that begins at `at`: numbers lane, lane + Lanes, ... below `end`.
  struct share {
    size_t at;
    uint32_t row, lane, end;
    bool exists;  ///< false: no row; the lane only takes part in barriers
  };
  template <class Thread>
  TROUPE_DEVICE share begin(Thread t) const {
    t.launch_dependents();
    t.grid_dependency_sync();
    const uint32_t row = t.block() * (threads / Lanes) + t.index() / Lanes;
    const bool exists = row < outer * inner;
    const size_t at = size_t{row / inner} * n * inner + row % inner;
    return {exists ? at : 0, row, t.index() % Lanes, exists ? n : 0, exists};
  }
  /// Reduces over all lanes of the row. Every thread of the block must take part.
  template <class Thread, class F>
  TROUPE_DEVICE static float combined(Thread t, float mine, F f) {
    TROUPE_UNROLL for (uint32_t mask = 16; mask > 0; mask /= 2) mine = f(mine, t.shuffle_xor(mine, mask));
    if constexpr (Lanes > 32) {
      auto* all = t.template shared<float>();
      if (t.lane() == 0) all[t.warp()] = mine;
      t.sync();
      mine = all[0];
      TROUPE_UNROLL for (uint32_t w = 1; w < threads / 32; ++w) mine = f(mine, all[w]);
      t.sync();  // before the next reduction writes
    }
    return mine;
  }
  template <class Thread>
  TROUPE_DEVICE static float total(Thread t, float mine) {
    return combined(t, mine, [](float a, float b) { return a + b; });
  }
};

template <uint32_t Lanes>
struct softmax_kernel : row_kernel<Lanes> {
  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    const auto mine = this->begin(t);
    const float* from = this->x + mine.at;
    const size_t step = this->inner;
    float maximum = -INFINITY, sum = 0;
    for (uint32_t k = mine.lane; k < mine.end; k += Lanes) maximum = fmaxf(maximum, from[k * step]);
    maximum = this->combined(t, maximum, [](float a, float b) { return fmaxf(a, b); });
    for (uint32_t k = mine.lane; k < mine.end; k += Lanes) sum += expf(from[k * step] - maximum);
    sum = this->total(t, sum);
    for (uint32_t k = mine.lane; k < mine.end; k += Lanes)
      this->y[mine.at + k * step] = expf(from[k * step] - maximum) / sum;
  }
};

/// Requires: inner is 1.
template <uint32_t Lanes>
struct layer_norm_kernel : row_kernel<Lanes> {
  const float *scale = nullptr, *shift = nullptr;  ///< [n]; shift may be null
  float epsilon = 0;

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    const auto mine = this->begin(t);
    const float* from = this->x + mine.at;
    float sum = 0, squares = 0;
    for (uint32_t k = mine.lane; k < mine.end; k += Lanes) sum += from[k];
    const float mean = this->total(t, sum) / static_cast<float>(this->n);
    for (uint32_t k = mine.lane; k < mine.end; k += Lanes) squares += (from[k] - mean) * (from[k] - mean);
    const float variance = this->total(t, squares) / static_cast<float>(this->n);
    const float factor = t.rsqrt(variance + epsilon);
    for (uint32_t k = mine.lane; k < mine.end; k += Lanes)
      this->y[mine.at + k] = (from[k] - mean) * factor * scale[k] + (shift == nullptr ? 0 : shift[k]);
  }
};

/// y [outer, inner].
template <uint32_t Lanes>
struct mean_kernel : row_kernel<Lanes> {
  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    const auto mine = this->begin(t);
    float sum = 0;
    for (uint32_t k = mine.lane; k < mine.end; k += Lanes) sum += this->x[mine.at + k * size_t{this->inner}];
    sum = this->total(t, sum);
    if (mine.exists && mine.lane == 0) this->y[mine.row] = sum / static_cast<float>(this->n);
  }
};

}  // namespace troupe::cuda
