#include "gpu/kernels/gelu_mul.hpp"

#include "gpu/kernels/cpu/simd.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/gelu_mul_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

void gelu_mul(const gelu_mul_args& a) {
  const auto run = TROUPE_PICK(activate_row_by_gelu);
#pragma omp parallel for schedule(static) if (a.rows * a.width > 1 << 15)
  for (size_t r = 0; r < a.rows; ++r)
    run(a.gate + r * a.gate_stride, a.up + r * a.up_stride, a.out + r * a.out_stride, a.width);
}

}  // namespace troupe::kernels
