#include "gpu/kernels/embedding.hpp"

namespace troupe::kernels {

void embedding_reference(const embedding_args& a) {
  for (size_t r = 0; r < a.rows; ++r) {
    const size_t first = static_cast<size_t>(a.tokens[r]) * a.hidden;
    for (size_t i = 0; i < a.hidden; ++i)
      a.out[r * a.out_stride + i] = element_at(a.table, a.type, first + i) * a.scale;
  }
}

}  // namespace troupe::kernels
