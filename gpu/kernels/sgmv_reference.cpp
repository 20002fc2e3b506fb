#include "gpu/kernels/sgmv.hpp"

namespace troupe::kernels {

void sgmv_shrink_reference(const sgmv_shrink_args& a) {
  for (uint32_t s = 0; s < a.segments.count; ++s) {
    const lora_weights* found = a.segments.weights(s);
    if (found == nullptr) continue;
    const lora_weights& w = *found;
    for (size_t r = a.segments.segment_end[s]; r < a.segments.segment_end[s + 1]; ++r) {
      for (size_t j = 0; j < w.rank; ++j) {
        double sum = 0;
        for (size_t k = 0; k < a.in; ++k)
          sum += double{a.x[r * a.x_stride + k]} * element_at(w.a, a.segments.type, j * a.in + k);
        a.v[r * a.v_stride + j] = static_cast<float>(sum);
      }
    }
  }
}

void sgmv_expand_reference(const sgmv_expand_args& a) {
  for (uint32_t s = 0; s < a.segments.count; ++s) {
    const lora_weights* found = a.segments.weights(s);
    if (found == nullptr) continue;
    const lora_weights& w = *found;
    for (size_t r = a.segments.segment_end[s]; r < a.segments.segment_end[s + 1]; ++r) {
      for (size_t n = 0; n < a.out; ++n) {
        double sum = 0;
        for (size_t j = 0; j < w.rank; ++j)
          sum += double{a.v[r * a.v_stride + j]} * element_at(w.b, a.segments.type, j * a.out + n);
        float& y = a.y[r * a.y_stride + n];
        y = static_cast<float>(y + w.scale * sum);
      }
    }
  }
}

void lora_reference(const lora_args& a) {
  sgmv_shrink_reference(a.shrink());
  sgmv_expand_reference(a.expand());
}

}  // namespace troupe::kernels
