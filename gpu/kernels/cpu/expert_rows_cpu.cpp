#include <cstring>

#include "gpu/kernels/cpu/simd.hpp"
#include "gpu/kernels/expert_rows.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/expert_rows_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

void gather_rows(const gather_rows_args& a) {
#pragma omp parallel for schedule(static) if (a.rows * a.width > 1 << 16)
  for (size_t r = 0; r < a.rows; ++r)
    std::memcpy(a.out + r * a.width, a.x + a.which[r] * a.width, a.width * sizeof(float));
}

void add_rows(const add_rows_args& a) {
  const auto run = TROUPE_PICK(add_row);
#pragma omp parallel for schedule(static) if (a.rows * a.width > 1 << 16)
  for (size_t r = 0; r < a.rows; ++r)
    run(a.x + r * a.width, a.weight[r], a.sum + a.which[r] * a.width, a.width);
}

}  // namespace troupe::kernels
