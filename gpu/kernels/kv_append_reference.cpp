#include "gpu/kernels/kv_append.hpp"

namespace troupe::kernels {

void kv_append_reference(const kv_append_args& a) {
  for (size_t r = 0; r < a.rows; ++r) {
    const uint32_t page = a.table.page(a.row_sequence[r], a.row_position[r], a.kv.page_tokens);
    const uint32_t slot = a.row_position[r] % a.kv.page_tokens;
    for (uint32_t head = 0; head < a.kv.kv_heads; ++head) {
      for (uint32_t d = 0; d < a.kv.head_dim; ++d) {
        const size_t i = head * size_t{a.kv.head_dim} + d;
        set_element(a.kv.at(page, a.layer, paged_kv::key, head, slot), a.kv.type, d, a.k[r * a.k_stride + i]);
        set_element(a.kv.at(page, a.layer, paged_kv::value, head, slot), a.kv.type, d,
                    a.v[r * a.v_stride + i]);
      }
    }
  }
}

}  // namespace troupe::kernels
