#include <cmath>

#include "gpu/kernels/rope.hpp"

namespace troupe::kernels {

namespace {

void turn(float* head, uint32_t head_dim, float position, const float* frequencies, float scale) {
  const uint32_t half = head_dim / 2;
  for (uint32_t i = 0; i < half; ++i) {
    const float angle = position * frequencies[i];  // rounded to a float, as Transformers does
    const double c = std::cos(double{angle}) * scale, s = std::sin(double{angle}) * scale;
    const double x = head[i], y = head[i + half];
    head[i] = static_cast<float>(x * c - y * s);
    head[i + half] = static_cast<float>(y * c + x * s);
  }
}

}  // namespace

void rope_reference(const rope_args& a) {
  for (size_t r = 0; r < a.rows; ++r) {
    const auto position = static_cast<float>(a.positions[r]);
    for (uint32_t h = 0; h < a.heads; ++h)
      turn(a.q + r * a.q_stride + h * size_t{a.head_dim}, a.head_dim, position, a.frequencies, a.scale);
    for (uint32_t h = 0; h < a.kv_heads; ++h)
      turn(a.k + r * a.k_stride + h * size_t{a.head_dim}, a.head_dim, position, a.frequencies, a.scale);
  }
}

}  // namespace troupe::kernels
