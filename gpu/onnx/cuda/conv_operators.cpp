// Conv and ConvTranspose through cuDNN, with bias, residual and ReLU fused if it supports that.
#include <algorithm>
#include <cstring>

#include "gpu/onnx/cuda/followers.hpp"
#include "gpu/onnx/cuda/pointwise_draft.hpp"
#include "gpu/onnx/cuda/program_operators.hpp"
#include "gpu/onnx/operators/window.hpp"

namespace troupe::cuda {

namespace {

onnx::shape strides_for(program_builder& b, const onnx::shape& dims) {
  return b.options().channels_last ? channels_last_strides(dims) : onnx::strides_of(dims);
}

/// w in the layout of conv_args: with channels last, the second dimension goes behind the kernel's.
place filters(program_builder& b, size_t i) {
  const auto w = b.in(i);
  if (!b.options().channels_last) return b.made_plain(w).where;
  if (w.where.where == place::in::parameter) {
    auto where = w.where;
    where.where = place::in::filters;
    return where;
  }
  return b.arranged(w, channels_last_strides(w.dims)).where;
}

void set_window(conv_args& a, const onnx::window& w, const onnx::shape& in, const onnx::shape& out) {
  a.dims = static_cast<uint32_t>(w.kernel.size());
  for (size_t d = 0; d < w.kernel.size(); ++d) {
    const auto small = [](int64_t n) { return static_cast<uint32_t>(n); };
    a.in[d] = small(in[2 + d]), a.out[d] = small(out[2 + d]), a.kernel[d] = small(w.kernel[d]);
    a.stride[d] = small(w.strides[d]), a.dilation[d] = small(w.dilations[d]), a.pad[d] = small(w.before[d]);
  }
}

/// The epilogue for machines whose convolutions do not fuse it: a kernel of ours.
pointwise_step epilogue(program_builder& b, const device_value& y, const followers& more) {
  pointwise_draft chain(y.dims, calculated_in::f32, y);
  if (more.bias) {
    auto along = *more.bias;
    along.dims.assign(y.dims.size() - 1, 1);
    along.dims[0] = y.dims[1];
    along.strides = onnx::strides_of(along.dims);
    chain.then(pointwise_op::add, along);
  }
  if (more.residual) chain.then(pointwise_op::add, *more.residual);
  if (more.relu) chain.then({pointwise_op::relu});
  return chain.into(b, y);
}

/// Emits the convolution with its followers.
device_value emit(program_builder& b, conv_args a, const device_value& x, const place& w,
                  const onnx::shape& out_dims, const followers& more) {
  a.batch = static_cast<uint32_t>(x.dims[0]);
  a.channels = static_cast<uint32_t>(x.dims[1]), a.features = static_cast<uint32_t>(out_dims[1]);
  a.channels_last = b.options().channels_last, a.tf32 = b.options().tf32;
  a.relu = more.relu;
  const auto y = b.make(data_type::fp32, out_dims, strides_for(b, out_dims));
  conv_step step;
  step.args = a;
  step.x = x.where, step.w = w, step.y = y.where;
  if (more.bias) step.bias = more.bias->where;
  if (more.residual) b.use(*more.residual), step.residual = more.residual->where;
  if (more.bias || more.residual || more.relu) step.behind = epilogue(b, y, more);
  b.emit(std::move(step));
  return y;
}

std::optional<device_value> own_bias(program_builder& b) {
  return b.has(2) ? std::optional{b.plain(2)} : std::nullopt;
}

/// Pads x with zeros by the excess of the larger padding over the smaller one, so that the rest is symmetric.
device_value with_uneven_padding(program_builder& b, const device_value& x, onnx::window& w) {
  if (w.before == w.after) return x;
  auto dims = x.dims;
  onnx::shape before(dims.size(), 0);
  for (size_t d = 0; d < w.before.size(); ++d) {
    const int64_t even = std::max<int64_t>(0, std::min(w.before[d], w.after[d]));
    before[2 + d] = w.before[d] - even;
    dims[2 + d] += w.before[d] + w.after[d] - 2 * even;
    w.before[d] = w.after[d] = even;
  }
  const auto out = b.make(x.type, dims, strides_for(b, dims));
  b.pad(x, out, before, 0);
  return out;
}

}  // namespace

void put_conv(program_builder& b) {
  const auto in = b.in(0);
  const auto dims = b.output_dims();
  const auto& w_dims = b.in(1).dims;
  const onnx::shape spatial(in.dims.begin() + 2, in.dims.end());
  auto window = onnx::read_window(b.asked(), spatial, {w_dims.begin() + 2, w_dims.end()});
  const auto padded = with_uneven_padding(b, in, window);
  const auto x = b.arranged(padded, strides_for(b, padded.dims));
  conv_args a;
  a.groups = static_cast<uint32_t>(b.asked().integer("group", 1));
  set_window(a, window, x.dims, dims);
  const auto w = filters(b, 1);
  const auto more = take_followers(b, own_bias(b), 1, strides_for(b, dims));
  b.define(more.result, emit(b, a, x, w, dims, more));
}

/// cuDNN's gradient has symmetric padding, and its windows fill the output up to a part of a stride. Other
/// outputs are cut out of a larger one.
void put_conv_transpose(program_builder& b) {
  const auto x = b.arranged(b.in(0), strides_for(b, b.in(0).dims));
  const auto dims = b.output_dims();
  const auto& w_dims = b.in(1).dims;
  const onnx::shape spatial(x.dims.begin() + 2, x.dims.end());
  auto window = onnx::read_transposed_window(b.asked(), spatial, {w_dims.begin() + 2, w_dims.end()});
  const auto fits = [&](size_t d, int64_t out, int64_t pad) {
    const int64_t room = out + 2 * pad - window.extent(d);
    return room >= 0 && room / window.strides[d] + 1 == spatial[d];
  };
  auto whole = dims;
  const auto before = window.before;
  bool even = true;
  for (size_t d = 0; d < spatial.size(); ++d) even = even && fits(d, dims[2 + d], before[d]);
  for (size_t d = 0; d < spatial.size() && !even; ++d) {
    whole[2 + d] = std::max((spatial[d] - 1) * window.strides[d] + window.extent(d), before[d] + dims[2 + d]);
    window.before[d] = 0;
    if (!fits(d, whole[2 + d], 0)) b.fail("its output is a stride larger than its last window");
  }
  conv_args a;
  a.transposed = true;
  a.groups = static_cast<uint32_t>(b.asked().integer("group", 1));
  set_window(a, window, x.dims, whole);
  const auto w = filters(b, 1);
  if (even) {
    const auto more = take_followers(b, own_bias(b), 1, strides_for(b, dims));
    return b.define(more.result, emit(b, a, x, w, dims, more));
  }
  const followers more{{}, own_bias(b), std::nullopt, false};
  const auto all = emit(b, a, x, w, whole, more);
  const auto out = b.make(data_type::fp32, dims, strides_for(b, dims));
  int64_t first = 0;
  for (size_t d = 0; d < before.size(); ++d) first += before[d] * all.strides[2 + d];
  b.copy(all.type, dims, all.where, all.strides, first, out.where, out.strides, 0);
  b.define(out);
}

}  // namespace troupe::cuda
