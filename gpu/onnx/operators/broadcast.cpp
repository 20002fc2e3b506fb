#include "gpu/onnx/operators/broadcast.hpp"

#include <algorithm>

namespace troupe::onnx {

std::optional<broadcast> broadcast::of(const shape& a, const shape& b) {
  const size_t rank = std::max(a.size(), b.size());
  const auto padded = [rank](const shape& s) {
    shape p(rank - s.size(), 1);
    p.insert(p.end(), s.begin(), s.end());
    return p;
  };
  const shape left = padded(a), right = padded(b);
  const shape left_strides = strides_of(left), right_strides = strides_of(right);

  broadcast out;
  for (size_t i = 0; i < rank; ++i) {
    if (left[i] != right[i] && left[i] != 1 && right[i] != 1) return std::nullopt;
    const int64_t n = left[i] == 1 ? right[i] : left[i];
    out.result.push_back(n);
    if (n == 1) continue;
    const int64_t a_step = left[i] == 1 ? 0 : left_strides[i];
    const int64_t b_step = right[i] == 1 ? 0 : right_strides[i];
    const bool merges =
        !out.dims.empty() && out.a_steps.back() == a_step * n && out.b_steps.back() == b_step * n;
    if (merges) {
      out.dims.back() *= n;
      out.a_steps.back() = a_step;
      out.b_steps.back() = b_step;
    } else {
      out.dims.push_back(n);
      out.a_steps.push_back(a_step);
      out.b_steps.push_back(b_step);
    }
  }
  if (out.dims.empty()) out.dims = out.a_steps = out.b_steps = {1};
  return out;
}

}  // namespace troupe::onnx
