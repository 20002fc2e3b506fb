// Operators that reduce many elements to one: pools, means, Softmax, LayerNormalization.
#include <algorithm>

#include "gpu/onnx/cuda/program_builder.hpp"
#include "gpu/onnx/cuda/program_operators.hpp"
#include "gpu/onnx/operators/window.hpp"

namespace troupe::cuda {

namespace {

/// Input [batch, channels, spatial...] of a pool: in its own layout, if channels are first or last.
struct pooled {
  explicit pooled(program_builder& b) : x(b.in(0)) {
    if (!x.is_plain() && !x.is_channels_last()) x = b.plain(0);
    args.channels_last = !x.is_plain();
    args.batch = static_cast<uint32_t>(x.dims[0]), args.channels = static_cast<uint32_t>(x.dims[1]);
    args.dims = static_cast<uint32_t>(x.dims.size() - 2);
    for (size_t d = 0; d < args.dims; ++d) args.in[place(d)] = static_cast<uint32_t>(x.dims[2 + d]);
  }
  /// Index of spatial dimension d in the kernel's arrays; unused leading entries stay 1.
  size_t place(size_t d) const { return pool_kernel::max_dims - args.dims + d; }
  device_value emit(program_builder& b, const onnx::shape& dims) const {
    const auto y =
        b.make(x.type, dims, args.channels_last ? channels_last_strides(dims) : onnx::strides_of(dims));
    b.emit(pool_step{args, x.where, y.where});
    return y;
  }
  device_value x;
  pool_kernel args;
};

device_value emit_row(program_builder& b, row_step step, const device_value& x, onnx::shape dims) {
  const auto y = b.make(data_type::fp32, std::move(dims));
  step.x = x.where, step.y = y.where;
  b.emit(step);
  return y;
}

uint32_t product(std::span<const int64_t> dims) { return static_cast<uint32_t>(onnx::element_count(dims)); }

/// Pools over all spatial dimensions, which stay as 1.
device_value pool_whole(program_builder& b, bool average) {
  pooled p(b);
  onnx::shape dims = p.x.dims;
  std::fill(dims.begin() + 2, dims.end(), 1);
  if (average && !p.args.channels_last) {  // each average reads one row of memory
    row_step step(row_step::kind::mean);
    step.args.outer = product(std::span{p.x.dims}.first(2)),
    step.args.n = product(std::span{p.x.dims}.subspan(2));
    return emit_row(b, step, p.x, dims);
  }
  p.args.average = average;
  std::copy_n(p.args.in, pool_kernel::max_dims, p.args.kernel);
  return p.emit(b, dims);
}

}  // namespace

void put_pool(program_builder& b) {
  pooled p(b);
  const onnx::shape input(p.x.dims.begin() + 2, p.x.dims.end());
  const auto w = onnx::read_window(b.asked(), input, *b.asked().integers("kernel_shape"));
  p.args.average = b.current().op == "AveragePool";
  const bool counts_padding = p.args.average && b.asked().integer("count_include_pad", 0) != 0;
  for (size_t d = 0; d < input.size(); ++d) {
    const auto small = [](int64_t n) { return static_cast<uint32_t>(n); };
    const size_t to = p.place(d);
    p.args.out[to] = small(w.output[d]), p.args.kernel[to] = small(w.kernel[d]);
    p.args.stride[to] = small(w.strides[d]), p.args.dilation[to] = small(w.dilations[d]);
    p.args.before[to] = static_cast<int32_t>(w.before[d]);
    if (counts_padding) p.args.counted[to] = small(input[d] + w.counted[d]);
  }
  b.define(p.emit(b, b.output_dims()));
}

void put_global_pool(program_builder& b) { b.define(pool_whole(b, b.current().op == "GlobalAveragePool")); }

void put_reduce_mean(program_builder& b) {
  const auto in = b.in(0);
  const size_t rank = in.dims.size();
  std::vector<bool> reduced(rank, false);
  if (const auto axes = b.asked().integers("axes"); axes && !axes->empty()) {
    for (const int64_t a : *axes) reduced[static_cast<size_t>(b.asked().axis(a, rank))] = true;
  } else {
    reduced.assign(rank, true);
  }
  const auto shaped_as_output = [&](device_value v) {
    v.dims = b.output_dims();
    v.strides = onnx::strides_of(v.dims);
    return v;
  };
  const bool spatial = rank >= 3 && rank <= 5 && !reduced[0] && !reduced[1] &&
                       std::all_of(reduced.begin() + 2, reduced.end(), [](bool r) { return r; });
  if (spatial) return b.define(shaped_as_output(b.made_plain(pool_whole(b, true))));

  // [outer, n, inner]; reduced dimensions that are not adjacent are moved behind the others
  auto x = b.plain(0);
  const auto first = static_cast<size_t>(std::ranges::find(reduced, true) - reduced.begin());
  size_t end = first;
  while (end < rank && reduced[end]) ++end;
  size_t begin = first;
  if (std::find(reduced.begin() + static_cast<ptrdiff_t>(end), reduced.end(), true) != reduced.end()) {
    std::vector<size_t> order;
    for (const bool which : {false, true})
      for (size_t d = 0; d < rank; ++d)
        if (reduced[d] == which) order.push_back(d);
    begin = static_cast<size_t>(std::ranges::count(reduced, false)), end = rank;
    x.strides = permuted(x.strides, order), x.dims = permuted(x.dims, order);
    x = b.made_plain(x);
  }
  const std::span dims{x.dims};
  row_step step(row_step::kind::mean);
  step.args.outer = product(dims.first(begin)), step.args.n = product(dims.subspan(begin, end - begin));
  step.args.inner = product(dims.subspan(end));
  b.define(emit_row(b, step, x, b.output_dims()));
}

void put_softmax(program_builder& b) {
  const auto x = b.plain(0);
  const bool flattens = b.asked().opset() < 13;
  const auto axis =
      static_cast<size_t>(b.asked().axis(b.asked().integer("axis", flattens ? 1 : -1), x.dims.size()));
  const size_t end = flattens ? x.dims.size() : axis + 1;
  const std::span dims{x.dims};
  row_step step(row_step::kind::softmax);
  step.args.outer = product(dims.first(axis)), step.args.n = product(dims.subspan(axis, end - axis));
  step.args.inner = product(dims.subspan(end));
  b.define(emit_row(b, step, x, x.dims));
}

void put_layer_normalization(program_builder& b) {
  const auto x = b.plain(0);
  const auto axis = static_cast<size_t>(b.asked().axis(b.asked().integer("axis", -1), x.dims.size()));
  const std::span dims{x.dims};
  row_step step(row_step::kind::layer_norm);
  step.args.outer = product(dims.first(axis)), step.args.n = product(dims.subspan(axis));
  step.epsilon = b.asked().number("epsilon", 1e-5F);
  step.scale = b.plain(1).where;
  if (b.has(2)) step.shift = b.plain(2).where;
  b.define(emit_row(b, step, x, x.dims));
}

}  // namespace troupe::cuda
