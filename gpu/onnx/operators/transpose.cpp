// Transpose, of any type.
#include <fmt/format.h>

#include "gpu/onnx/operators/strided_copy.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

void build_transpose(plan_builder& b) {
  const auto& x = b.plain(0);
  const size_t rank = x.dims.size();
  shape order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(rank - 1 - i);
  order = b.integers("perm").value_or(order);
  std::vector<bool> seen(rank);
  if (order.size() != rank)
    b.fail(fmt::format("cannot transpose {} by {}", to_string(x.dims), to_string(order)));
  for (const int64_t o : order) {
    if (o < 0 || o >= static_cast<int64_t>(rank) || seen[static_cast<size_t>(o)]) {
      b.fail(fmt::format("{} is not a permutation", to_string(order)));
    }
    seen[static_cast<size_t>(o)] = true;
  }

  const shape strides = strides_of(x.dims);
  shape dims, steps;
  for (const int64_t o : order) {
    dims.push_back(x.dims[static_cast<size_t>(o)]);
    steps.push_back(strides[static_cast<size_t>(o)]);
  }
  const auto& out = b.output(0, x.type, dims);
  b.emit([in = x.data, to = out.data,
          copy = strided_copy(dims, {steps}, {strides_of(dims)}, size_of(x.type))] { copy(*in, *to); });
}

}  // namespace troupe::onnx
