#include "gpu/kernels/embedding.hpp"

#include "gpu/kernels/cpu/simd.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/embedding_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

void embedding(const embedding_args& a) {
  const auto widen = TROUPE_PICK(widen);
#pragma omp parallel for schedule(static) if (a.rows * a.hidden > 1 << 16)
  for (size_t r = 0; r < a.rows; ++r)
    widen(a.table, a.type, static_cast<size_t>(a.tokens[r]) * a.hidden, a.out + r * a.out_stride, a.hidden,
          a.scale);
}

}  // namespace troupe::kernels
