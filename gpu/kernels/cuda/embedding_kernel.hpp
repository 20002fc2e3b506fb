// The embedding layer: a row of the table for each token, as floats of the residual stream. In a step that
// was started ahead, a token may be one that the step before has chosen.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"
#include "gpu/kernels/cuda/sampling_kernel.hpp"

namespace troupe::cuda {

template <element E>
struct embedding_kernel {
  static constexpr uint32_t threads = 256, cluster = 1;

  const uint32_t* rows = nullptr;       ///< [1]; blocks beyond it do nothing
  int32_t* tokens = nullptr;            ///< [rows]; below 0: replaced by the token of `before[~token]`
  const sampled_row* before = nullptr;  ///< samples of the step before; an invalid one counts as any token
  const void* table = nullptr;          ///< [vocabulary, width], E
  float* x = nullptr;                   ///< [rows, width], written
  uint32_t width = 0;                   ///< a multiple of 8

  grid_size grid(uint32_t max_rows) const { return {max_rows, 1, 1}; }
  size_t shared_bytes() const { return 0; }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    t.launch_dependents();
    t.grid_dependency_sync();
    if (t.block() >= *rows) return;
    const int32_t token = tokens[t.block()];
    auto row = static_cast<uint32_t>(token);
    if (token < 0) {
      row = before[~token].chosen.token;
      if (row == kernels::no_token) row = 0;
      t.sync();  // all threads have read it
      if (t.index() == 0) tokens[t.block()] = static_cast<int32_t>(row);
    }
    const auto* from = static_cast<const uint16_t*>(table) + size_t{row} * width;
    for (uint32_t i = t.index() * 8; i < width; i += threads * 8) {
      const vec16 numbers = t.load(from + i);
      float out[8];
      TROUPE_UNROLL for (uint32_t j = 0; j < 4; ++j) {
        const float_pair pair = t.template unpack<E>(numbers.word[j]);
        out[2 * j] = pair.low, out[2 * j + 1] = pair.high;
      }
      vec16 halves[2];
      memcpy(halves, out, sizeof out);
      float* to = x + size_t{t.block()} * width + i;
      t.store(to, halves[0]), t.store(to + 4, halves[1]);
    }
  }
};

}  // namespace troupe::cuda
