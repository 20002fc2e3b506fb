#include "gpu/kernels/dense.hpp"

namespace troupe::kernels {

void dense_reference(const dense_args& a) {
  for (size_t r = 0; r < a.rows; ++r) {
    for (size_t n = 0; n < a.w->out(); ++n) {
      double sum = a.bias ? a.bias[n] : 0;
      for (size_t k = 0; k < a.w->in(); ++k) sum += double{a.x[r * a.x_stride + k]} * a.w->at(n, k);
      a.y[r * a.y_stride + n] = static_cast<float>(sum);
    }
  }
}

}  // namespace troupe::kernels
