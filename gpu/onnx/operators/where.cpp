// Where, with broadcasting: elements of any type, picked by a boolean.
#include <fmt/format.h>

#include <cstring>

#include "gpu/onnx/operators/broadcast.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

/// Steps of a tensor broadcast to the shape `dims`, in elements.
shape steps_within(const shape& own, const shape& dims) {
  shape steps(dims.size(), 0);
  const shape strides = strides_of(own);
  for (size_t i = 0; i < own.size(); ++i) {
    if (own[i] > 1) steps[dims.size() - own.size() + i] = strides[i];
  }
  return steps;
}

}  // namespace

void build_where(plan_builder& b) {
  const auto &condition = b.plain(0), &x = b.plain(1), &y = b.plain(2);
  if (condition.type != data_type::boolean || x.type != y.type) {
    b.fail(fmt::format("takes BOOL and two tensors of one type, not {}, {} and {}", to_string(condition.type),
                       to_string(x.type), to_string(y.type)));
  }
  const auto picked = broadcast::of(x.dims, y.dims);
  const auto all = picked ? broadcast::of(condition.dims, picked->result) : std::nullopt;
  if (!all) {
    b.fail(fmt::format("{}, {} and {} do not broadcast", to_string(condition.dims), to_string(x.dims),
                       to_string(y.dims)));
  }
  shape dims = all->result;
  const auto& out = b.output(0, x.type, dims);
  if (out.elements() == 0) return;
  if (dims.empty()) dims = {1};
  b.emit([which = condition.data, left = x.data, right = y.data, to = out.data, dims, size = size_of(x.type),
          which_steps = steps_within(condition.dims, dims), left_steps = steps_within(x.dims, dims),
          right_steps = steps_within(y.dims, dims)] {
    const size_t inner = dims.size() - 1;
    shape index(dims.size(), 0);
    int64_t w = 0, l = 0, r = 0;
    std::byte* target = *to;
    const auto* flags = reinterpret_cast<const uint8_t*>(*which);
    while (true) {
      for (int64_t k = 0; k < dims[inner]; ++k, target += size) {
        const bool first = flags[w + k * which_steps[inner]] != 0;
        const int64_t at = first ? l + k * left_steps[inner] : r + k * right_steps[inner];
        std::memcpy(target, (first ? *left : *right) + static_cast<size_t>(at) * size, size);
      }
      size_t d = inner;
      while (d-- > 0) {
        w += which_steps[d];
        l += left_steps[d];
        r += right_steps[d];
        if (++index[d] < dims[d]) break;
        w -= which_steps[d] * dims[d];
        l -= left_steps[d] * dims[d];
        r -= right_steps[d] * dims[d];
        index[d] = 0;
      }
      if (d == SIZE_MAX) return;
    }
  });
}

}  // namespace troupe::onnx
