#include "gpu/kernels/expert_rows.hpp"

namespace troupe::kernels {

void gather_rows_reference(const gather_rows_args& a) {
  for (size_t r = 0; r < a.rows; ++r)
    for (size_t i = 0; i < a.width; ++i) a.out[r * a.width + i] = a.x[a.which[r] * a.width + i];
}

void add_rows_reference(const add_rows_args& a) {
  for (size_t r = 0; r < a.rows; ++r) {
    for (size_t i = 0; i < a.width; ++i) {
      float& sum = a.sum[a.which[r] * a.width + i];
      sum = static_cast<float>(sum + double{a.weight[r]} * a.x[r * a.width + i]);
    }
  }
}

}  // namespace troupe::kernels
