// The windows of convolutions and pools: strides, dilations, padding and the output size that follows.
#pragma once
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

struct window {
  shape kernel, strides, dilations, before, after;  ///< a value each for every spatial dimension
  shape counted;  ///< `after` without what `ceil_mode` adds, which an average does not count
  shape output;   ///< spatial size

  int64_t extent(size_t i) const;     ///< of the dilated kernel in dimension i
  shape dilations_from_zero() const;  ///< as oneDNN counts them
};

/// The spatial size of the weights of a convolution, which `kernel_shape` must repeat if it is given.
shape kernel_of(plan_builder& b, const shape& weights);

/// Reads `strides`, `dilations`, `pads`, `auto_pad` and `ceil_mode` of the current node for an input of
/// spatial size `input`. With `ceil_mode`, `after` is extended to what the last window covers, and a last
/// window that would begin beyond the padded input is left out: it holds no element.
window read_window(plan_builder& b, const shape& input, const shape& kernel);

/// The same for a transposed convolution, with `output_padding` and `output_shape`: `input` is what strides
/// apart in `output`. `after` may be negative: positions of the output that no window reaches.
window read_transposed_window(plan_builder& b, const shape& input, const shape& kernel);

}  // namespace troupe::onnx
