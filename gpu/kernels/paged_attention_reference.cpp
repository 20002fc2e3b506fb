#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "gpu/kernels/paged_attention.hpp"

namespace troupe::kernels {

void paged_attention_reference(const paged_attention_args& a) {
  const uint32_t group = a.heads / a.kv.kv_heads, dim = a.kv.head_dim;
  for (size_t r = 0; r < a.rows; ++r) {
    const uint32_t begin = attention_begin(a.row_position[r], a.window), end = a.row_position[r] + 1;
    for (uint32_t head = 0; head < a.heads; ++head) {
      const float* q = a.q + r * a.q_stride + head * size_t{dim};
      const auto cached = [&](uint32_t position, paged_kv::part which, uint32_t d) {
        const uint32_t page = a.table.page(a.row_sequence[r], position, a.kv.page_tokens);
        const void* v = a.kv.at(page, a.layer, which, head / group, position % a.kv.page_tokens);
        return double{element_at(v, a.kv.type, d)};
      };
      std::vector<double> weight(end - begin);
      double largest = -std::numeric_limits<double>::infinity(), sum = 0;
      for (uint32_t t = begin; t < end; ++t) {
        double score = 0;
        for (uint32_t d = 0; d < dim; ++d) score += q[d] * cached(t, paged_kv::key, d);
        weight[t - begin] = score * a.scale;
        if (a.cap > 0) weight[t - begin] = a.cap * std::tanh(weight[t - begin] / a.cap);
        largest = std::max(largest, weight[t - begin]);
      }
      for (double& w : weight) sum += w = std::exp(w - largest);
      for (uint32_t d = 0; d < dim; ++d) {
        double mean = 0;
        for (uint32_t t = begin; t < end; ++t) mean += weight[t - begin] * cached(t, paged_kv::value, d);
        a.out[r * a.out_stride + head * size_t{dim} + d] = static_cast<float>(mean / sum);
      }
    }
  }
}

}  // namespace troupe::kernels
