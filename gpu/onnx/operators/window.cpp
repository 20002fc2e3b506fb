#include "gpu/onnx/operators/window.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace troupe::onnx {

namespace {

constexpr int64_t largest = 1 << 20;  // limit of strides, dilations and padding

shape read_sizes(plan_builder& b, const char* name, size_t count, int64_t otherwise, int64_t min) {
  const auto sizes = b.integers(name).value_or(shape(count, otherwise));
  if (sizes.size() != count ||
      std::ranges::any_of(sizes, [&](int64_t s) { return s < min || s > largest; })) {
    b.fail(fmt::format("{} = {} is not valid here", name, to_string(sizes)));
  }
  return sizes;
}

/// Reads kernel, strides and dilations.
window read_steps(plan_builder& b, size_t rank, const shape& kernel) {
  if (rank < 1 || rank > 3 || kernel.size() != rank)
    b.fail("needs 1 to 3 spatial dimensions and as many in its kernel");
  for (const int64_t k : kernel) {
    if (k < 1 || k > largest) b.fail(fmt::format("kernel shape {} is not valid", to_string(kernel)));
  }
  window w;
  w.kernel = kernel;
  w.strides = read_sizes(b, "strides", rank, 1, 1);
  w.dilations = read_sizes(b, "dilations", rank, 1, 1);
  return w;
}

/// Reads `pads`, unless the mode determines them.
std::string read_pads(plan_builder& b, size_t rank, window& w) {
  const auto mode = b.text("auto_pad", "NOTSET");
  if (mode != "NOTSET" && mode != "VALID" && mode != "SAME_UPPER" && mode != "SAME_LOWER") {
    b.fail(fmt::format("auto_pad = '{}' is unknown", mode));
  }
  const shape pads = mode == "NOTSET" ? read_sizes(b, "pads", 2 * rank, 0, 0) : shape(2 * rank, 0);
  w.before = {pads.begin(), pads.begin() + static_cast<ptrdiff_t>(rank)};
  w.after = {pads.begin() + static_cast<ptrdiff_t>(rank), pads.end()};
  return mode;
}

}  // namespace

int64_t window::extent(size_t i) const { return (kernel[i] - 1) * dilations[i] + 1; }

shape window::dilations_from_zero() const {
  shape d = dilations;
  for (auto& x : d) --x;
  return d;
}

shape kernel_of(plan_builder& b, const shape& weights) {
  const shape kernel(weights.begin() + 2, weights.end());
  if (const auto stated = b.integers("kernel_shape"); stated && *stated != kernel) {
    b.fail(
        fmt::format("kernel_shape {} differs from the weights' {}", to_string(*stated), to_string(kernel)));
  }
  return kernel;
}

window read_window(plan_builder& b, const shape& input, const shape& kernel) {
  const size_t rank = input.size();
  auto w = read_steps(b, rank, kernel);
  const auto mode = read_pads(b, rank, w);
  w.counted = w.after;
  const bool ceil = b.integer("ceil_mode", 0) != 0;
  for (size_t i = 0; i < rank; ++i) {
    const int64_t extent = w.extent(i), stride = w.strides[i];
    int64_t& out = w.output.emplace_back();
    if (mode.starts_with("SAME")) {
      out = (input[i] + stride - 1) / stride;
      const int64_t total = std::max<int64_t>(0, (out - 1) * stride + extent - input[i]);
      w.before[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
      w.counted[i] = w.after[i] = total - w.before[i];
      continue;
    }
    const int64_t room = input[i] + w.before[i] + w.after[i] - extent;
    if (room < 0) b.fail(fmt::format("its window is larger than the padded input {}", to_string(input)));
    out = room / stride + 1;
    if (ceil && room % stride != 0 && out * stride < input[i] + w.before[i]) {
      w.after[i] += (out * stride) - room;
      ++out;
    }
  }
  return w;
}

window read_transposed_window(plan_builder& b, const shape& input, const shape& kernel) {
  const size_t rank = input.size();
  auto w = read_steps(b, rank, kernel);
  const auto mode = read_pads(b, rank, w);
  const shape extra = read_sizes(b, "output_padding", rank, 0, 0);
  const auto stated = b.integers("output_shape");
  if (stated && stated->size() != rank) b.fail("output_shape must have the spatial dimensions");
  for (size_t i = 0; i < rank; ++i) {
    const int64_t full = (input[i] - 1) * w.strides[i] + w.extent(i) + extra[i];
    int64_t& out = w.output.emplace_back(full - w.before[i] - w.after[i]);
    if (stated || mode.starts_with("SAME")) {
      out = stated ? (*stated)[i] : input[i] * w.strides[i];
      const int64_t total = std::max<int64_t>(0, full - out);
      w.before[i] = mode == "SAME_UPPER" ? total / 2 : total - total / 2;
    }
    if (out < 1 || out > largest) b.fail(fmt::format("gives an output of {} in dimension {}", out, i));
    w.after[i] = full - extra[i] - w.before[i] - out;
  }
  return w;
}

}  // namespace troupe::onnx
