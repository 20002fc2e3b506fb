// The activation of a gated feed-forward layer: gate / (1 + exp(-gate)) * up.
#pragma once
#include <cstddef>

namespace troupe::kernels {

struct silu_mul_args {
  const float* gate = nullptr;  ///< [rows, width]
  const float* up = nullptr;    ///< [rows, width]; with the gate it may be two halves of one matrix
  size_t gate_stride = 0;       ///< floats from row to row, at least `width`
  size_t up_stride = 0;
  float* out = nullptr;  ///< [rows, width], written; may be `gate` or `up`
  size_t out_stride = 0;
  size_t rows = 0, width = 0;
};

void silu_mul_reference(const silu_mul_args& args);
void silu_mul(const silu_mul_args& args);

}  // namespace troupe::kernels
