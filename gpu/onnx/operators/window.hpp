// The windows of convolutions and pools: strides, dilations, padding and the resulting output size.
#pragma once
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

struct window {
  shape kernel, strides, dilations, before, after;  ///< by spatial dimension
  shape counted;  ///< `after` without the excess of `ceil_mode`, which an average does not count
  shape output;   ///< spatial size

  int64_t extent(size_t i) const;     ///< of the dilated kernel in dimension i
  shape dilations_from_zero() const;  ///< oneDNN's convention
};

/// The spatial size of a convolution's weights. `kernel_shape` must equal it if given.
shape kernel_of(plan_builder& b, const shape& weights);

/// Reads `strides`, `dilations`, `pads`, `auto_pad` and `ceil_mode` of the current node for an input of
/// spatial size `input`. With `ceil_mode`, `after` is extended to the end of the last window. A last window
/// that would begin beyond the padded input is left out, as it holds no element.
window read_window(plan_builder& b, const shape& input, const shape& kernel);

/// The same for a transposed convolution, with `output_padding` and `output_shape`: elements of `input` are a
/// stride apart in `output`. `after` is negative if windows do not reach the last positions of the output.
window read_transposed_window(plan_builder& b, const shape& input, const shape& kernel);

}  // namespace troupe::onnx
