// Pad with a constant, the edge or the reflection, for any type. Negative pads cut off.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "gpu/onnx/operators/pad.hpp"
#include "gpu/onnx/operators/strided_copy.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

std::vector<int64_t> shown_by_padding(int64_t input, int64_t output, int64_t before, bool reflect) {
  std::vector<int64_t> at(static_cast<size_t>(output));
  for (int64_t i = 0; i < output; ++i) {
    int64_t k = i - before;
    if (reflect && k < 0) k = -k;
    if (reflect && k >= input) k = 2 * (input - 1) - k;
    at[static_cast<size_t>(i)] = std::clamp<int64_t>(k, 0, input - 1);
  }
  return at;
}

namespace {

void pad_with_constant(plan_builder& b, const value& x, const value& out, const shape& before) {
  const size_t size = size_of(x.type), rank = x.dims.size();
  std::vector<std::byte> filler(size);
  if (b.has(2)) {
    const auto& v = b.in(2);
    if (!v.constant || v.type != x.type || v.elements() != 1) {
      b.fail(fmt::format("its constant must be one {} that is known when the model is loaded",
                         to_string(x.type)));
    }
    std::memcpy(filler.data(), v.constant->data->data(), size);
  }
  // The remaining part of the input, and its position in the output.
  strided_copy::side from{strides_of(x.dims), 0}, to{strides_of(out.dims), 0};
  shape box(rank);
  for (size_t i = 0; i < rank; ++i) {
    const int64_t first = std::max<int64_t>(0, -before[i]);
    box[i] = std::max<int64_t>(0, std::min(x.dims[i], out.dims[i] - before[i]) - first);
    from.first += first * from.steps[i];
    to.first += (first + before[i]) * to.steps[i];
  }
  b.emit([in = x.data, target = out.data, filler, n = static_cast<size_t>(out.elements()),
          copy = strided_copy(box, from, to, size)] {
    std::byte* at = *target;
    for (size_t i = 0; i < n; ++i, at += filler.size()) std::memcpy(at, filler.data(), filler.size());
    copy(*in, *target);
  });
}

void pad_with_input(plan_builder& b, const value& x, const value& out,
                    const std::vector<std::vector<int64_t>>& maps) {
  b.emit([in = x.data, target = out.data, maps, dims = out.dims, steps = strides_of(x.dims),
          size = size_of(x.type), n = out.elements()] {
    shape index(dims.size(), 0);
    std::byte* to = *target;
    for (int64_t i = 0; i < n; ++i, to += size) {
      int64_t at = 0;
      for (size_t d = 0; d < dims.size(); ++d) at += maps[d][static_cast<size_t>(index[d])] * steps[d];
      std::memcpy(to, *in + static_cast<size_t>(at) * size, size);
      for (size_t d = dims.size(); d-- > 0;) {
        if (++index[d] < dims[d]) break;
        index[d] = 0;
      }
    }
  });
}

}  // namespace

void build_pad(plan_builder& b) {
  const auto& x = b.plain(0);
  const size_t rank = x.dims.size();
  const shape pads = b.constant_ints(1);
  const auto mode = b.text("mode", "constant");
  if (pads.size() != 2 * rank) {
    b.fail(fmt::format("{} has {} pads, but needs {}", to_string(x.dims), pads.size(), 2 * rank));
  }
  if (mode != "constant" && mode != "edge" && mode != "reflect") {
    b.fail(fmt::format("mode = '{}' is not supported, only constant, edge and reflect", mode));
  }
  constexpr int64_t largest = 1 << 20;
  const shape before(pads.begin(), pads.begin() + static_cast<ptrdiff_t>(rank));
  shape dims;
  std::vector<std::vector<int64_t>> maps;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t after = pads[rank + i];
    const int64_t left = x.dims[i] + std::min<int64_t>(0, before[i]) + std::min<int64_t>(0, after);
    const int64_t max = mode == "reflect" ? left - 1 : largest;  // cut off, not reflected
    if (std::max(before[i], after) > std::max<int64_t>(max, 0) || std::min(before[i], after) < -x.dims[i]) {
      b.fail(fmt::format("cannot pad {} by {} in mode {}", to_string(x.dims), to_string(pads), mode));
    }
    dims.push_back(x.dims[i] + before[i] + after);
    if (dims[i] < 0 || (left <= 0 && mode != "constant")) b.fail("its output would be empty");
    maps.push_back(mode == "constant" ? std::vector<int64_t>{}
                                      : shown_by_padding(x.dims[i], dims[i], before[i], mode == "reflect"));
  }
  const auto& out = b.output(0, x.type, dims);
  if (mode == "constant") return pad_with_constant(b, x, out, before);
  pad_with_input(b, x, out, maps);
}

}  // namespace troupe::onnx
