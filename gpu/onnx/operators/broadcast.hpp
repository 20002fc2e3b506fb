// Numpy-style broadcasting of two row-major tensors.
#pragma once
#include <optional>

#include "gpu/onnx/tensor.hpp"

namespace troupe::onnx {

/// Iteration over two tensors that are broadcast against each other. Dimensions that are contiguous in both
/// are merged; a stride is 0 where its tensor is repeated.
struct broadcast {
  shape result;            ///< of the operation
  shape dims;              ///< merged; never empty
  shape a_steps, b_steps;  ///< strides, one for each merged dimension

  /// None if the shapes cannot be broadcast.
  static std::optional<broadcast> of(const shape& a, const shape& b);

  /// Calls `run(out, a, b, n, a_step, b_step)` with element offsets for every innermost run of n elements.
  template <class Run>
  void for_each_run(const Run& run) const {
    const size_t inner = dims.size() - 1;
    shape index(dims.size(), 0);
    int64_t out = 0, a = 0, b = 0;
    while (true) {
      run(out, a, b, dims[inner], a_steps[inner], b_steps[inner]);
      out += dims[inner];
      size_t d = inner;
      while (d-- > 0) {
        a += a_steps[d];
        b += b_steps[d];
        if (++index[d] < dims[d]) break;
        a -= a_steps[d] * dims[d];
        b -= b_steps[d] * dims[d];
        index[d] = 0;
      }
      if (d == SIZE_MAX) return;
    }
  }
};

}  // namespace troupe::onnx
