#include <cassert>
#include <cmath>

#include "gpu/kernels/rope.hpp"
#include "gpu/kernels/simd.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/rope_simd.inc"
#include "gpu/kernels/each_isa.inc"

namespace troupe::kernels {

void rope(const rope_args& a) {
  assert(a.head_dim % 2 == 0 && a.head_dim <= rope_max_head_dim);
  const auto turn = TROUPE_PICK(turn_heads);
  const uint32_t half = a.head_dim / 2;
#pragma omp parallel for schedule(static) if (a.rows * (a.heads + a.kv_heads) * a.head_dim > 1 << 15)
  for (size_t r = 0; r < a.rows; ++r) {
    float cosine[rope_max_head_dim / 2], sine[rope_max_head_dim / 2];
    const auto position = static_cast<float>(a.positions[r]);
    for (uint32_t i = 0; i < half; ++i) {
      const float angle = position * a.frequencies[i];
      cosine[i] = std::cos(angle) * a.scale, sine[i] = std::sin(angle) * a.scale;
    }
    turn(a.q + r * a.q_stride, a.heads, half, cosine, sine);
    turn(a.k + r * a.k_stride, a.kv_heads, half, cosine, sine);
  }
}

}  // namespace troupe::kernels
