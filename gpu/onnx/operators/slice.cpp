// Slice and Split: pieces of a tensor of any type.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "gpu/onnx/operators/strided_copy.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

/// The range start:end:step along a dimension, by numpy's rules.
struct range {
  int64_t first = 0, count = 0, step = 1;
};

range resolve(int64_t start, int64_t end, int64_t step, int64_t dim) {
  // Negative positions count from the end. Models write the largest or smallest number for "to the end".
  const auto clamp = [dim](int64_t at, int64_t low, int64_t high) {
    return std::clamp(at < 0 ? std::max(at, -dim - 1) + dim : at, low, high);
  };
  if (step > 0) {
    start = clamp(start, 0, dim);
    end = clamp(end, 0, dim);
    return {start, end <= start ? 0 : (end - start - 1) / step + 1, step};
  }
  start = clamp(start, -1, dim - 1);
  end = clamp(end, -1, dim - 1);
  return {start, start <= end ? 0 : (start - end - 1) / -step + 1, step};
}

}  // namespace

void build_slice(plan_builder& b) {
  const auto& x = b.plain(0);
  const size_t rank = x.dims.size();
  const auto starts = b.constant_ints(1), ends = b.constant_ints(2);
  std::vector<int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (b.has(3)) axes = b.constant_ints(3);
  if (b.has(4)) steps = b.constant_ints(4);
  if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
    b.fail("its starts, ends, axes and steps differ in length");
  }
  strided_copy::side from{strides_of(x.dims), 0};
  shape dims = x.dims;
  std::vector<bool> seen(rank);
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto a = static_cast<size_t>(b.axis(axes[i], rank));
    if (seen[a]) b.fail(fmt::format("slices axis {} twice", axes[i]));
    seen[a] = true;
    if (steps[i] == 0) b.fail("has a step of 0");
    const int64_t step = std::clamp(steps[i], -max_tensor_bytes, max_tensor_bytes);
    const auto r = resolve(starts[i], ends[i], step, x.dims[a]);
    if (r.count > 0) from.first += r.first * from.steps[a];
    from.steps[a] *= r.step;
    dims[a] = r.count;
  }
  const auto& out = b.output(0, x.type, dims);
  b.emit([in = x.data, to = out.data, copy = strided_copy(dims, from, {strides_of(dims)}, size_of(x.type))] {
    copy(*in, *to);
  });
}

void build_split(plan_builder& b) {
  const auto& x = b.plain(0);
  const auto axis = static_cast<size_t>(b.axis(b.integer("axis", 0), x.dims.size()));
  const auto pieces = static_cast<int64_t>(b.current().outputs.size());
  std::optional<std::vector<int64_t>> sizes;  // an attribute up to opset 12, an input since 13
  if (b.opset() < 13) {
    sizes = b.integers("split");
  } else if (b.has(1)) {
    sizes = b.constant_ints(1);
  }
  const int64_t whole = x.dims[axis];
  if (!sizes) {
    if (whole % pieces != 0) b.fail(fmt::format("cannot split {} into {} equal parts", whole, pieces));
    sizes = std::vector<int64_t>(static_cast<size_t>(pieces), whole / pieces);
  }
  int64_t first = 0;
  for (const int64_t n : *sizes) first = n < 0 || n > whole ? whole + 1 : first + n;
  if (static_cast<int64_t>(sizes->size()) != pieces || first != whole) {
    b.fail(fmt::format("cannot split {} into {} outputs of {}", whole, pieces, to_string(*sizes)));
  }
  const shape steps = strides_of(x.dims);
  first = 0;
  for (size_t i = 0; i < sizes->size(); ++i) {
    shape dims = x.dims;
    dims[axis] = (*sizes)[i];
    if (!b.current().outputs[i].empty()) {
      const auto& out = b.output(i, x.type, dims);
      const strided_copy copy(dims, {steps, first * steps[axis]}, {strides_of(dims)}, size_of(x.type));
      b.emit([in = x.data, to = out.data, copy] { copy(*in, *to); });
    }
    first += dims[axis];
  }
}

}  // namespace troupe::onnx
