#include "gpu/kernels/rms_norm.hpp"

#include <cmath>

namespace troupe::kernels {

void rms_norm_reference(const rms_norm_args& a) {
  for (size_t r = 0; r < a.rows; ++r) {
    const size_t from = a.which ? a.which[r] : r;
    float* residual = a.residual + from * a.residual_stride;
    double squares = 0;
    for (size_t i = 0; i < a.width; ++i) {
      if (a.x) residual[i] += a.x[from * a.x_stride + i];
      squares += double{residual[i]} * residual[i];
    }
    const double factor = 1 / std::sqrt(squares / static_cast<double>(a.width) + a.epsilon);
    for (size_t i = 0; i < a.width; ++i)
      a.out[r * a.out_stride + i] = static_cast<float>(residual[i] * factor * a.weight[i]);
  }
}

void head_norm_reference(const head_norm_args& a) {
  for (size_t r = 0; r < a.rows; ++r) {
    float* row = a.x + r * a.x_stride;
    rms_norm_reference({.residual = row,
                        .residual_stride = a.head_dim,
                        .weight = a.weight,
                        .epsilon = a.epsilon,
                        .out = row,
                        .out_stride = a.head_dim,
                        .rows = a.heads,
                        .width = a.head_dim});
  }
}

}  // namespace troupe::kernels
