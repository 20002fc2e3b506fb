#include "gpu/kernels/silu_mul.hpp"

#include <cmath>

namespace troupe::kernels {

void silu_mul_reference(const silu_mul_args& a) {
  for (size_t r = 0; r < a.rows; ++r) {
    for (size_t i = 0; i < a.width; ++i) {
      const double gate = a.gate[r * a.gate_stride + i];
      a.out[r * a.out_stride + i] =
          static_cast<float>(gate / (1 + std::exp(-gate)) * a.up[r * a.up_stride + i]);
    }
  }
}

}  // namespace troupe::kernels
