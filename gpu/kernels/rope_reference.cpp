#include <cmath>

#include "gpu/kernels/rope.hpp"

namespace troupe::kernels {

namespace {

void turn(float* head, uint32_t half, const float* cosine, const float* sine) {
  for (uint32_t i = 0; i < half; ++i) {
    const double c = cosine[i], s = sine[i], x = head[i], y = head[i + half];
    head[i] = static_cast<float>(x * c - y * s);
    head[i + half] = static_cast<float>(y * c + x * s);
  }
}

}  // namespace

void rope_angles_reference(const rope_angles_args& a) {
  const uint32_t half = a.rotated / 2;
  for (size_t r = 0; r < a.rows; ++r) {
    for (uint32_t i = 0; i < half; ++i) {
      // rounded to a float, as Transformers does
      const float angle = static_cast<float>(a.positions[r]) * a.frequencies[i];
      a.cosine[r * half + i] = static_cast<float>(std::cos(double{angle}) * a.scale);
      a.sine[r * half + i] = static_cast<float>(std::sin(double{angle}) * a.scale);
    }
  }
}

void rope_reference(const rope_args& a) {
  const uint32_t half = a.rotated / 2;
  for (size_t r = 0; r < a.rows; ++r) {
    const float *cosine = a.cosine + r * half, *sine = a.sine + r * half;
    for (uint32_t h = 0; h < a.heads; ++h)
      turn(a.q + r * a.q_stride + h * size_t{a.head_dim}, half, cosine, sine);
    for (uint32_t h = 0; h < a.kv_heads; ++h)
      turn(a.k + r * a.k_stride + h * size_t{a.head_dim}, half, cosine, sine);
  }
}

}  // namespace troupe::kernels
