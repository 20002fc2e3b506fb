// Copies a box of elements between row-major tensors: transposed, sliced, repeated or reversed.
#pragma once
#include "gpu/onnx/tensor.hpp"

namespace troupe::onnx {

/// Element (i, j, ...) of the box is at `from + i * from_steps[0] + j * from_steps[1] + ...` in the source,
/// and likewise in the target. Offsets and steps are in elements. A source step of 0 repeats; a negative one
/// reverses.
class strided_copy {
 public:
  struct side {
    shape steps;
    int64_t first = 0;
  };
  /// Requires: dims and both steps have the same length.
  strided_copy(const shape& dims, const side& from, const side& to, size_t element_bytes);

  void operator()(const std::byte* in, std::byte* out) const;

 private:
  template <size_t Bytes>
  void run(const std::byte* in, std::byte* out) const;

  // Dimensions that are contiguous on both sides are merged, the innermost into the unit. In bytes.
  shape dims_, from_steps_, to_steps_;
  int64_t from_first_, to_first_;
  size_t unit_;
  bool empty_;
};

}  // namespace troupe::onnx
