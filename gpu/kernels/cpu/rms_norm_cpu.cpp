#include "gpu/kernels/rms_norm.hpp"

#include "gpu/kernels/cpu/simd.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/rms_norm_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

void rms_norm(const rms_norm_args& a) {
  const auto run = TROUPE_PICK(normalise_row);
#pragma omp parallel for schedule(static) if (a.rows * a.width > 1 << 15)
  for (size_t r = 0; r < a.rows; ++r) {
    const size_t from = a.which ? a.which[r] : r;
    run(a.residual + from * a.residual_stride, a.x ? a.x + from * a.x_stride : nullptr, a.weight,
        a.out + r * a.out_stride, a.width, a.epsilon);
  }
}

void head_norm(const head_norm_args& a) {
  const auto run = TROUPE_PICK(normalise_row);
#pragma omp parallel for schedule(static) if (a.rows * a.heads * a.head_dim > 1 << 15)
  for (size_t r = 0; r < a.rows; ++r) {
    for (uint32_t h = 0; h < a.heads; ++h) {
      float* head = a.x + r * a.x_stride + h * size_t{a.head_dim};
      run(head, nullptr, a.weight, head, a.head_dim, a.epsilon);
    }
  }
}

}  // namespace troupe::kernels
