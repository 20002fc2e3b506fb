// Transpose, of any type.
#include <fmt/format.h>

#include <cstring>

#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

/// Copies in the order of the output; `steps` are the input's strides in that order, in bytes. What lies
/// together in both is copied whole, as elements of `bytes`.
void transpose(const std::byte* in, std::byte* out, const shape& dims, const shape& steps, size_t bytes) {
  shape index(dims.size(), 0);
  const int64_t inner = dims.back(), inner_step = steps.back();
  const int64_t runs = element_count(dims) / inner;
  int64_t at = 0;
  for (int64_t i = 0; i < runs; ++i) {
    const auto* source = in + at;
    const auto step = static_cast<size_t>(inner_step);
    if (bytes == 4) {
      for (int64_t k = 0; k < inner; ++k, source += step, out += 4) std::memcpy(out, source, 4);
    } else {
      for (int64_t k = 0; k < inner; ++k, source += step, out += bytes) std::memcpy(out, source, bytes);
    }
    for (size_t d = dims.size() - 1; d-- > 0;) {
      at += steps[d];
      if (++index[d] < dims[d]) break;
      at -= steps[d] * dims[d];
      index[d] = 0;
    }
  }
}

}  // namespace

void build_transpose(plan_builder& b) {
  const auto& x = b.plain(0);
  const size_t rank = x.dims.size();
  shape order(rank);
  for (size_t i = 0; i < rank; ++i) order[i] = static_cast<int64_t>(rank - 1 - i);
  order = b.integers("perm").value_or(order);
  std::vector<bool> seen(rank);
  if (order.size() != rank) b.fail(fmt::format("cannot order {} by {}", to_string(x.dims), to_string(order)));
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
  if (x.elements() == 0) return;
  size_t bytes = size_of(x.type);
  while (!dims.empty() && steps.back() == static_cast<int64_t>(bytes / size_of(x.type))) {
    bytes *= static_cast<size_t>(dims.back());
    dims.pop_back();
    steps.pop_back();
  }
  for (auto& s : steps) s = s * static_cast<int64_t>(size_of(x.type));
  if (dims.empty()) dims = steps = {1};
  b.emit([in = x.data, to = out.data, dims, steps, bytes] { transpose(*in, *to, dims, steps, bytes); });
}

}  // namespace troupe::onnx
