// A product of a step's rows with base weights: y = x W^T + bias.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/element.hpp"

namespace troupe::cuda {

struct gemm_args {
  const void* x = nullptr;     ///< [rows, in], contiguous
  const void* w = nullptr;     ///< [out, in], contiguous
  const void* bias = nullptr;  ///< [out], or null
  void* y = nullptr;           ///< [rows, out], rows y_stride apart
  uint32_t rows = 0, in = 0, out = 0;
  size_t y_stride = 0;
  element type = element::bf16;  ///< of x, w and bias
  bool float_y = false;          ///< y is f32; else of `type`. Without a bias then.
};

}  // namespace troupe::cuda
