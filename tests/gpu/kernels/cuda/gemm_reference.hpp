// The reference of gemm_args: plain loops in double.
#pragma once
#include <algorithm>
#include <vector>

#include "gpu/kernels/cuda/gemm_args.hpp"
#include "tests/gpu/kernels/cuda/tf32.hpp"

namespace troupe::cuda {

/// The numbers as [rows, columns], transposed if `a` says so.
inline std::vector<double> gemm_operand(const void* numbers, const gemm_args& a, int64_t offset,
                                        uint32_t rows, uint32_t columns, bool turned) {
  const bool rounds = a.tf32 && a.type == element::f32;
  std::vector<double> plain(size_t{rows} * columns);
  for (size_t r = 0; r < rows; ++r)
    for (size_t c = 0; c < columns; ++c) {
      const size_t i = turned ? c * rows + r : r * columns + c;
      const float number = element_at(numbers, a.type, static_cast<size_t>(offset) + i);
      plain[r * columns + c] = rounds ? to_tf32(number) : number;
    }
  return plain;
}

inline void gemm_reference(const gemm_args& a) {
  std::vector<double> x, w;
  for (uint32_t b = 0; b < a.batch; ++b) {
    if (b == 0 || a.x_step != 0) x = gemm_operand(a.x, a, b * a.x_step, a.rows, a.in, a.x_turned);
    if (b == 0 || a.w_step != 0) w = gemm_operand(a.w, a, b * a.w_step, a.out, a.in, a.w_turned);
    for (size_t r = 0; r < a.rows; ++r)
      for (size_t n = 0; n < a.out; ++n) {
        double sum = 0;
        for (size_t k = 0; k < a.in; ++k) sum += x[r * a.in + k] * w[n * a.in + k];
        const element y = a.float_y ? element::f32 : a.type;
        const size_t at = static_cast<size_t>(b * a.y_step) + r * a.y_stride + n;
        sum = sum * a.scale + (a.bias == nullptr ? 0 : element_at(a.bias, a.type, n));
        if (a.adds) sum += element_at(a.y, y, at);
        if (a.relu) sum = std::max(sum, 0.0);
        set_element(a.y, y, at, static_cast<float>(sum));
      }
  }
}

}  // namespace troupe::cuda
