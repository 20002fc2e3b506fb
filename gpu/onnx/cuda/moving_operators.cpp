// Operators that only move elements or change the shape.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "gpu/onnx/cuda/program_builder.hpp"
#include "gpu/onnx/cuda/program_operators.hpp"
#include "gpu/onnx/operators/pad.hpp"

namespace troupe::cuda {

namespace {

/// Strides of a dense tensor of `dims` with the same order of dimensions as `like`. Requires: the same rank.
onnx::shape strides_like(const onnx::shape& dims, const device_value& like) {
  return dense_strides(dims, memory_order(like.dims, like.strides));
}

/// Word size of a kernel that moves slices of this many bytes.
uint32_t word_of(size_t bytes) {
  uint32_t word = 16;
  while (bytes % word != 0) word /= 2;
  return word;
}

/// Gathers along an axis of a row-major tensor.
device_value gather(program_builder& b, const device_value& from, const device_value& indices, size_t axis,
                    onnx::shape dims, uint32_t fault) {
  const std::span all{from.dims};
  const auto bytes = static_cast<size_t>(onnx::element_count(all.subspan(axis + 1))) * size_of(from.type);
  gather_step step;
  step.word = word_of(bytes);
  step.args.wide = indices.type == data_type::int64;
  step.args.picks = static_cast<uint32_t>(indices.elements());
  step.args.bound = static_cast<uint32_t>(from.dims[axis]);
  step.args.slice = static_cast<uint32_t>(bytes / step.word);
  const auto out = b.make(from.type, std::move(dims));
  step.args.count =
      static_cast<uint32_t>(static_cast<size_t>(out.elements()) * size_of(out.type) / step.word);
  step.from = from.where, step.indices = indices.where, step.to = out.where, step.fault = fault;
  if (out.elements() > 0) b.emit(step);
  return out;
}

}  // namespace

void put_same(program_builder& b) { b.define(b.in(0)); }

void put_reshape(program_builder& b) {
  auto v = b.plain(0);
  v.dims = b.output_dims();
  v.strides = onnx::strides_of(v.dims);
  b.define(std::move(v));
}

void put_concat(program_builder& b) {
  const auto dims = b.output_dims();
  const auto axis = static_cast<size_t>(b.asked().axis(b.asked().integer("axis", 0), dims.size()));
  const auto out = b.make(b.output_type(), dims, strides_like(dims, b.in(0)));
  int64_t first = 0;
  for (size_t i = 0; i < b.current().inputs.size(); ++i) {
    const auto part = b.in(i);
    b.copy(part.type, part.dims, part.where, part.strides, 0, out.where, out.strides,
           first * out.strides[axis]);
    first += part.dims[axis];
  }
  b.define(out);
}

void put_expand(program_builder& b) {
  const auto x = b.in(0);
  const auto out = b.make(x.type, b.output_dims());
  b.copy(x.type, out.dims, x.where, repeated_strides(x.dims, x.strides, out.dims), 0, out.where, out.strides,
         0);
  b.define(out);
}

void put_gather(program_builder& b) {
  const auto from = b.plain(0), indices = b.plain(1);
  const auto axis = static_cast<size_t>(b.asked().axis(b.asked().integer("axis", 0), from.dims.size()));
  const auto bound = from.dims[axis];
  if (bound == 0 && indices.elements() > 0) b.fail("its input is empty along the axis");
  const auto fault =
      b.add_fault({onnx::describe(b.current()) + ": index ",
                   " is not in -" + std::to_string(bound) + ".." + std::to_string(bound - 1), true});
  b.define(gather(b, from, indices, axis, b.output_dims(), fault));
}

void put_pad(program_builder& b) {
  const auto dims = b.output_dims();
  const auto pads = b.asked().constant_ints(1);
  const auto mode = b.asked().text("mode", "constant");
  const onnx::shape before(pads.begin(), pads.begin() + static_cast<ptrdiff_t>(dims.size()));
  if (mode == "constant") {
    uint64_t filler = 0;
    if (b.has(2)) {
      const auto& number = *b.asked().in(2).constant;
      std::memcpy(&filler, number.data->data(), number.bytes());
    }
    const auto x = b.in(0);
    const auto out = b.make(x.type, dims, strides_like(dims, x));
    b.pad(x, out, before, filler);
    return b.define(out);
  }
  auto v = b.plain(0);  // one dimension after the other: gathers the shown position
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == v.dims[d] && before[d] == 0) continue;
    auto next = v.dims;
    next[d] = dims[d];
    const auto shown = onnx::shown_by_padding(v.dims[d], dims[d], before[d], mode == "reflect");
    v = gather(b, v, b.constant(onnx::make_ints(shown)), d, std::move(next), no_fault);
  }
  b.define(std::move(v));
}

void put_slice(program_builder& b) {
  const auto x = b.in(0);
  const auto dims = b.output_dims();
  auto& asked = b.asked();
  const auto starts = asked.constant_ints(1);
  std::vector<int64_t> axes(starts.size()), steps(starts.size(), 1);
  std::iota(axes.begin(), axes.end(), 0);
  if (b.has(3)) axes = asked.constant_ints(3);
  if (b.has(4)) steps = asked.constant_ints(4);
  onnx::shape from = x.strides;
  int64_t first = 0;
  for (size_t i = 0; i < starts.size(); ++i) {
    const auto a = static_cast<size_t>(asked.axis(axes[i], x.dims.size()));
    const int64_t n = x.dims[a];
    if (dims[a] == 0) continue;
    const int64_t start =
        std::clamp(starts[i] < 0 ? std::max(starts[i], -n - 1) + n : starts[i], int64_t{0}, n - 1);
    first += start * x.strides[a];
    from[a] *= std::clamp(steps[i], -onnx::max_tensor_bytes, onnx::max_tensor_bytes);
  }
  const auto out = b.make(x.type, dims, strides_like(dims, x));
  b.copy(x.type, dims, x.where, from, first, out.where, out.strides, 0);
  b.define(out);
}

void put_split(program_builder& b) {
  const auto x = b.in(0);
  const auto axis = static_cast<size_t>(b.asked().axis(b.asked().integer("axis", 0), x.dims.size()));
  std::optional<std::vector<int64_t>> sizes;
  if (b.asked().opset() < 13)
    sizes = b.asked().integers("split");
  else if (b.has(1))
    sizes = b.asked().constant_ints(1);
  const auto& outputs = b.current().outputs;
  int64_t first = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    auto dims = x.dims;
    dims[axis] = sizes ? (*sizes)[i] : x.dims[axis] / static_cast<int64_t>(outputs.size());
    if (!outputs[i].empty()) {
      const auto out = b.make(x.type, dims, strides_like(dims, x));
      b.copy(x.type, dims, x.where, x.strides, first * x.strides[axis], out.where, out.strides, 0);
      b.define(outputs[i], out);
    }
    first += dims[axis];
  }
}

void put_transpose(program_builder& b) {
  const auto x = b.in(0);
  const auto dims = b.output_dims();
  onnx::shape order(dims.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(order.size() - 1 - i);
  order = b.asked().integers("perm").value_or(order);
  auto turned = x;
  turned.dims = dims;
  for (size_t i = 0; i < order.size(); ++i) turned.strides[i] = x.strides[static_cast<size_t>(order[i])];
  b.define(b.made_plain(turned));  // no copy if it is row-major now
}

}  // namespace troupe::cuda
