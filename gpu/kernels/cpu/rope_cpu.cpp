#include <cassert>
#include <cmath>

#include "gpu/kernels/cpu/simd.hpp"
#include "gpu/kernels/rope.hpp"

#define TROUPE_ISA_BODY "gpu/kernels/cpu/rope_simd.inc"
#include "gpu/kernels/cpu/each_isa.inc"

namespace troupe::kernels {

void rope_angles(const rope_angles_args& a) {
  assert(a.rotated % 2 == 0);
  const uint32_t half = a.rotated / 2;
#pragma omp parallel for schedule(static) if (a.rows * half > 1 << 12)
  for (size_t r = 0; r < a.rows; ++r) {
    const auto position = static_cast<float>(a.positions[r]);
    for (uint32_t i = 0; i < half; ++i) {
      const float angle = position * a.frequencies[i];
      a.cosine[r * half + i] = std::cos(angle) * a.scale, a.sine[r * half + i] = std::sin(angle) * a.scale;
    }
  }
}

void rope(const rope_args& a) {
  assert(a.rotated % 2 == 0 && a.rotated <= a.head_dim);
  const auto turn = TROUPE_PICK(turn_heads);
  const uint32_t half = a.rotated / 2;
#pragma omp parallel for schedule(static) if (a.rows * (a.heads + a.kv_heads) * a.head_dim > 1 << 16)
  for (size_t r = 0; r < a.rows; ++r) {
    const float *cosine = a.cosine + r * half, *sine = a.sine + r * half;
    turn(a.q + r * a.q_stride, a.heads, a.head_dim, half, cosine, sine);
    turn(a.k + r * a.k_stride, a.kv_heads, a.head_dim, half, cosine, sine);
  }
}

}  // namespace troupe::kernels
