#include "gpu/kernels/gelu_mul.hpp"

#include <cmath>
#include <numbers>

namespace troupe::kernels {

void gelu_mul_reference(const gelu_mul_args& a) {
  for (size_t r = 0; r < a.rows; ++r) {
    for (size_t i = 0; i < a.width; ++i) {
      const double x = a.gate[r * a.gate_stride + i];
      const double inner = std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x);
      a.out[r * a.out_stride + i] =
          static_cast<float>(x / (1 + std::exp(-2 * inner)) * a.up[r * a.up_stride + i]);
    }
  }
}

}  // namespace troupe::kernels
