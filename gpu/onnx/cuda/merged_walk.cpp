#include "gpu/onnx/cuda/merged_walk.hpp"

#include <algorithm>
#include <numeric>

namespace troupe::cuda {

merged_walk merge_dimensions(const onnx::shape& dims, const std::vector<onnx::shape>& strides) {
  std::vector<size_t> lasts;  // the last original dimension of each merged one
  std::vector<int64_t> extents;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 1) continue;
    const bool merges = !lasts.empty() && std::ranges::all_of(strides, [&](const onnx::shape& s) {
      return s[lasts.back()] == s[d] * dims[d];
    });
    if (merges) {
      extents.back() *= dims[d];
      lasts.back() = d;
    } else {
      extents.push_back(dims[d]);
      lasts.push_back(d);
    }
  }
  merged_walk out;
  out.steps.resize(strides.size());
  if (extents.empty()) return out;
  out.walk.dims = static_cast<uint32_t>(extents.size());
  for (size_t d = 0; d < extents.size(); ++d) {
    out.walk.extent[d] = static_cast<uint32_t>(extents[d]);
    for (size_t t = 0; t < strides.size(); ++t) out.steps[t].step[d] = strides[t][lasts[d]];
  }
  return out;
}

std::vector<size_t> memory_order(const onnx::shape& dims, const onnx::shape& strides) {
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  onnx::shape keys = strides;  // a dimension of one element stays before the next one
  for (size_t d = dims.size(); d-- > 0;)
    if (dims[d] == 1) keys[d] = d + 1 < dims.size() ? keys[d + 1] : 0;
  std::ranges::stable_sort(order, [&](size_t a, size_t b) { return keys[a] > keys[b]; });
  return order;
}

onnx::shape dense_strides(const onnx::shape& dims, const std::vector<size_t>& order) {
  onnx::shape strides(dims.size());
  int64_t next = 1;
  for (size_t i = order.size(); i-- > 0;) {
    strides[order[i]] = next;
    next *= dims[order[i]];
  }
  return strides;
}

onnx::shape channels_last_strides(const onnx::shape& dims) {
  std::vector<size_t> order(dims.size());
  std::iota(order.begin(), order.end(), size_t{0});
  if (order.size() > 2) std::rotate(order.begin() + 1, order.begin() + 2, order.end());
  return dense_strides(dims, order);
}

onnx::shape repeated_strides(const onnx::shape& dims, const onnx::shape& strides, const onnx::shape& wanted) {
  onnx::shape steps(wanted.size(), 0);
  const size_t missing = wanted.size() - dims.size();
  for (size_t d = 0; d < dims.size(); ++d)
    if (dims[d] > 1) steps[missing + d] = strides[d];
  return steps;
}

onnx::shape permuted(const onnx::shape& of, const std::vector<size_t>& order) {
  onnx::shape out;
  for (const size_t d : order) out.push_back(of[d]);
  return out;
}

}  // namespace troupe::cuda
