// Numpy-style broadcasting of two row-major tensors.
#pragma once
#include <optional>

#include "gpu/onnx/tensor.hpp"

namespace troupe::onnx {

/// How to walk two tensors that are broadcast against each other: dimensions that both walk alike are merged,
/// and a stride is 0 where its tensor is repeated.
struct broadcast {
  shape result;            ///< of the operation
  shape dims;              ///< merged; never empty
  shape a_steps, b_steps;  ///< strides, a step a merged dimension

  /// Nothing if the shapes do not fit.
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
