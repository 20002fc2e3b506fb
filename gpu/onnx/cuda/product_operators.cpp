// MatMul and Gemm through cuBLASLt, with bias and ReLU fused.
#include <algorithm>

#include "gpu/onnx/cuda/followers.hpp"
#include "gpu/onnx/cuda/pointwise_draft.hpp"
#include "gpu/onnx/cuda/program_operators.hpp"
#include "gpu/onnx/operators/broadcast.hpp"

namespace troupe::cuda {

namespace {

/// Emits the product with its followers.
void emit(program_builder& b, gemm_args a, const device_value& x, const device_value& w,
          const followers& more) {
  const auto y = b.make(data_type::fp32, b.output_dims());
  a.type = element::f32, a.float_y = true, a.tf32 = b.options().tf32;
  a.y_stride = a.out;
  a.relu = more.relu;
  product_step step{a, x.where, w.where, more.bias ? more.bias->where : place{}, y.where};
  b.use(x), b.use(w);
  b.emit(step);
  b.define(more.result, y);
}

/// Broadcasts the batch dimensions in memory, so that every product has matrices of its own.
device_value repeated(program_builder& b, const device_value& v, const onnx::shape& batch) {
  const auto out = b.make(v.type, onnx::joined(batch, std::span{v.dims}.last(2)));
  b.copy(v.type, out.dims, v.where, repeated_strides(v.dims, v.strides, out.dims), 0, out.where, out.strides,
         0);
  return out;
}

}  // namespace

void put_matmul(program_builder& b) {
  auto x = b.plain(0), w = b.plain(1);
  const bool row = x.dims.size() == 1, column = w.dims.size() == 1;
  if (row) x.dims.insert(x.dims.begin(), 1);
  if (column) w.dims.push_back(1);
  x.strides = onnx::strides_of(x.dims), w.strides = onnx::strides_of(w.dims);
  gemm_args a;
  a.w_turned = true;
  a.in = static_cast<uint32_t>(x.dims.back()), a.out = static_cast<uint32_t>(w.dims.back());
  const auto dims = b.output_dims();
  followers more{b.current().outputs.front(), std::nullopt, std::nullopt, false};
  if (!column) more = take_followers(b, std::nullopt, dims.size() - 1, {});
  if (w.dims.size() == 2) {  // one product of many rows
    a.rows = static_cast<uint32_t>(x.elements() / x.dims.back());
    return emit(b, a, x, w, more);
  }
  const onnx::shape x_batch(x.dims.begin(), x.dims.end() - 2), w_batch(w.dims.begin(), w.dims.end() - 2);
  auto walk = *onnx::broadcast::of(x_batch, w_batch);
  if (walk.dims.size() > 1) {
    x = repeated(b, x, walk.result), w = repeated(b, w, walk.result);
    walk = *onnx::broadcast::of(walk.result, walk.result);
  }
  a.rows = static_cast<uint32_t>(x.dims[x.dims.size() - 2]);
  a.batch = static_cast<uint32_t>(walk.dims[0]);
  a.x_step = walk.a_steps[0] * a.rows * a.in, a.w_step = walk.b_steps[0] * a.in * a.out;
  a.y_step = int64_t{a.rows} * a.out;
  emit(b, a, x, w, more);
}

void put_gemm(program_builder& b) {
  const auto x = b.plain(0), w = b.plain(1);
  gemm_args a;
  a.x_turned = b.asked().integer("transA", 0) != 0, a.w_turned = b.asked().integer("transB", 0) == 0;
  a.rows = static_cast<uint32_t>(x.dims[a.x_turned]), a.in = static_cast<uint32_t>(x.dims[!a.x_turned]);
  a.out = static_cast<uint32_t>(w.dims[a.w_turned]);
  a.scale = b.asked().number("alpha", 1);
  if (!b.has(2)) return emit(b, a, x, w, take_followers(b, std::nullopt, 1, {}));
  const auto c = b.plain(2);
  const float beta = b.asked().number("beta", 1);
  const onnx::shape along{a.out}, one_row{1, a.out};
  if (beta == 1 && (c.dims == along || c.dims == one_row))
    return emit(b, a, x, w, take_followers(b, c, 1, {}));

  const auto name = b.current().outputs.front();
  emit(b, a, x, w, {name, std::nullopt, std::nullopt, false});
  const auto product = b.value_of(name);
  const std::span factor{&beta, 1};
  pointwise_draft chain(product.dims, calculated_in::f32, c);
  chain.then(pointwise_op::multiply,
             b.constant(onnx::make_tensor(data_type::fp32, {}, std::as_bytes(factor))));
  chain.then(pointwise_op::add, product);
  const auto sum = b.make(data_type::fp32, product.dims);
  b.emit(chain.into(b, sum));
  b.define(sum);
}

}  // namespace troupe::cuda
