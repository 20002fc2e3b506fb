#include "gpu/llm/linear.hpp"

namespace troupe::llm {

kernels::dense_args linear::args(const float* x, float* y, size_t rows) const {
  return {.x = x,
          .x_stride = weights.in(),
          .w = &weights,
          .bias = bias.empty() ? nullptr : bias.data(),
          .y = y,
          .y_stride = weights.out(),
          .rows = rows};
}

}  // namespace troupe::llm
