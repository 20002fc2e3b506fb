#include "gpu/kernels/cpu/simd.hpp"
#include "gpu/kernels/kv_append.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/kv_append_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

void kv_append(const kv_append_args& a) {
  const auto narrow = TROUPE_PICK(narrow);
  const size_t dim = a.kv.head_dim;
#pragma omp parallel for schedule(static) if (a.rows * a.kv.kv_heads * dim > 1 << 15)
  for (size_t r = 0; r < a.rows; ++r) {
    const uint32_t page = a.table.page(a.row_sequence[r], a.row_position[r], a.kv.page_tokens);
    const uint32_t slot = a.row_position[r] % a.kv.page_tokens;
    for (uint32_t head = 0; head < a.kv.kv_heads; ++head) {
      narrow(a.k + r * a.k_stride + head * dim, a.kv.at(page, a.layer, paged_kv::key, head, slot), a.kv.type,
             dim);
      narrow(a.v + r * a.v_stride + head * dim, a.kv.at(page, a.layer, paged_kv::value, head, slot),
             a.kv.type, dim);
    }
  }
}

}  // namespace troupe::kernels
