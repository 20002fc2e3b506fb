// The activation of a gated feed-forward layer: out = silu(gate) * up, silu(x) = x / (1 + exp(-x)). Reads 4
// and writes 2 bytes per number.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

template <element E>
struct silu_mul_kernel {
  static constexpr uint32_t threads = 256, cluster = 1;

  const uint32_t* rows = nullptr;  ///< [1]; blocks beyond them do nothing
  const void* gate_up = nullptr;   ///< [rows, gate | up], contiguous
  void* out = nullptr;             ///< [rows, width], contiguous
  uint32_t width = 0;              ///< a multiple of 8

  grid_size grid(uint32_t max_rows) const { return {ceil_div(width / 8, threads), max_rows, 1}; }
  size_t shared_bytes() const { return 0; }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.launch_dependents();
    t.grid_dependency_sync();
    const uint32_t i = (t.block() * threads + t.index()) * 8;
    if (t.block_y() >= *rows || i >= width) return;
    const auto* gate = static_cast<const uint16_t*>(gate_up) + size_t{t.block_y()} * 2 * width + i;
    const vec16 g = t.load(gate);
    vec16 u = t.load(gate + width);
    TROUPE_UNROLL for (uint32_t j = 0; j < 4; ++j) {
      const float_pair a = t.template unpack<E>(g.word[j]), b = t.template unpack<E>(u.word[j]);
      u.word[j] = t.template pack<E>(silu(t, a.low) * b.low, silu(t, a.high) * b.high);
    }
    t.store(static_cast<uint16_t*>(out) + size_t{t.block_y()} * width + i, u);
  }

 private:
  template <class Thread>
  TROUPE_DEVICE static float silu(Thread t, float x) {
    return x / (1 + t.exp2(-1.4426950408889634F * x));
  }
};

}  // namespace troupe::cuda
