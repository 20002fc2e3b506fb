#include "gpu/kernels/soft_cap.hpp"

#include "gpu/kernels/cpu/simd.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/soft_cap_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

void soft_cap(const soft_cap_args& a) {
  constexpr size_t piece = 4096;
  const auto run = TROUPE_PICK(cap_numbers);
#pragma omp parallel for schedule(static) if (a.count > 1 << 15)
  for (size_t first = 0; first < a.count; first += piece)
    run(a.x + first, a.count - first < piece ? a.count - first : piece, a.cap);
}

}  // namespace troupe::kernels
