// Arguments of products of rows with weights: y = relu(scale x W^T + y + bias), where y is added only if
// `adds`.
#pragma once
#include <cstddef>
#include <cstdint>

#include "gpu/common/element.hpp"

namespace troupe::cuda {

struct gemm_args {
  const void* x = nullptr;     ///< [rows, in], contiguous
  const void* w = nullptr;     ///< [out, in], contiguous
  const void* bias = nullptr;  ///< [out], or null; the same for all products of a batch
  void* y = nullptr;           ///< [rows, out], rows y_stride apart; does not overlap the inputs
  uint32_t rows = 0, in = 0, out = 0;
  size_t y_stride = 0;
  element type = element::bf16;  ///< of x, w and bias
  bool float_y = false;          ///< y is f32, else of `type`; then there is no bias, unless `type` is f32

  bool x_turned = false;  ///< x is [in, rows]
  bool w_turned = false;  ///< w is [in, out]
  uint32_t batch = 1;     ///< number of products
  /// Numbers from one product to the next; 0: the same for all (x, w).
  int64_t x_step = 0, w_step = 0, y_step = 0;
  float scale = 1;
  bool adds = false;  ///< adds to y, before rounding
  bool relu = false;
  /// Numbers of f32 may be rounded to TF32 (10 bits of fraction) before they are multiplied.
  bool tf32 = false;
};

}  // namespace troupe::cuda
