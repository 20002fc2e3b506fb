#include "gpu/onnx/cuda/followers.hpp"

#include <algorithm>

namespace troupe::cuda {

namespace {

/// True if `dims` is [n] at dimension `axis` of `rank`, and 1 everywhere else.
bool is_along(const onnx::shape& dims, size_t rank, size_t axis, int64_t n) {
  if (dims.size() > rank) return false;
  const size_t missing = rank - dims.size();
  if (missing > axis) return n == 1 && onnx::element_count(dims) == 1;
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] != (missing + d == axis ? n : 1)) return false;
  return true;
}

}  // namespace

followers take_followers(program_builder& b, std::optional<device_value> bias, size_t axis,
                         const onnx::shape& strides) {
  followers found{b.current().outputs.front(), std::move(bias), std::nullopt, false};
  const auto dims = b.output_dims();
  while (const auto* next = b.sole_reader(found.result)) {
    if (next->op == "Relu") {
      found.relu = true;
    } else if (next->op == "Add") {
      const auto& other = next->inputs[next->inputs[0] == found.result ? 1 : 0];
      if (other == found.result || !b.is_available(other)) break;
      const auto& shaped = b.model().of(other);
      const bool known = shaped.constant || shaped.parameter;
      if (!found.bias && !found.residual && known && is_along(shaped.dims, dims.size(), axis, dims[axis])) {
        found.bias = b.value_of(other);
      } else if (!found.residual && !known && !strides.empty() && shaped.dims == dims) {
        auto lying = b.value_of(other);
        if (memory_order(dims, lying.strides) != memory_order(dims, strides)) break;
        found.residual = std::move(lying);
      } else {
        break;
      }
    } else {
      break;
    }
    b.take(*next);
    found.result = next->outputs.front();
    if (found.relu) break;
  }
  return found;
}

}  // namespace troupe::cuda
