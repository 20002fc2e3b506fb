// MatMul (batched, broadcasting) and Gemm, with a following bias, residual and activation fused.
#include <fmt/format.h>

#include <algorithm>

#include "gpu/onnx/memory_layout.hpp"
#include "gpu/onnx/operators/broadcast.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

dnnl::memory::desc matrix(int64_t rows, int64_t columns, bool transposed) {
  const shape strides = transposed ? shape{1, rows} : shape{columns, 1};
  return {{rows, columns}, dnnl::memory::data_type::f32, strides};
}

struct product {
  dnnl::memory::desc left, right, out;  ///< layouts in memory; all of one rank
  shape out_dims;                       ///< shape in the graph
  float scale = 1;
  bool fuse = true;  ///< fuse a following residual and activation
};

/// out = scale · left · right (+ bias), with its followers fused. A right matrix that is known before the
/// first run is packed.
void emit_product(plan_builder& b, const product& p, address left, const value& right,
                  std::optional<value> bias) {
  auto right_layout = p.right;
  if (right_layout.dims().size() == 2 && (right.parameter || right.constant)) {
    right_layout = any_layout(right_layout.dims());
  }
  dnnl::memory::desc bias_layout;
  if (bias) {
    shape dims(p.out.dims().size() - 1, 1);
    dims.push_back(p.out.dims().back());
    bias_layout = plain_layout(dims);
  }
  auto attributes = plan_builder::attributes();
  if (p.scale != 1) attributes.set_output_scales(0, {p.scale});
  dnnl::post_ops behind;
  auto residual = p.fuse ? b.residual(p.out_dims) : std::nullopt;
  if (residual && !residual->plain) residual.reset();
  if (residual) {
    behind.append_sum();
    b.take_residual();
  }
  if (p.fuse) b.take_activation(behind, p.out_dims.size());
  attributes.set_post_ops(behind);
  const auto d = bias ? dnnl::matmul::desc(p.left, right_layout, bias_layout, p.out)
                      : dnnl::matmul::desc(p.left, right_layout, p.out);
  const dnnl::matmul::primitive_desc pd(d, attributes, cpu_engine());
  const address weights = b.packed(right, p.right, pd.weights_desc());
  const auto inner = static_cast<double>(p.left.dims().back());
  b.count_flops(2 * inner * static_cast<double>(element_count(p.out_dims)));
  const auto& out = residual ? b.output_in_place(*residual) : b.output(0, data_type::fp32, p.out_dims);
  std::vector<plan_builder::argument> arguments{{DNNL_ARG_SRC, p.left, left},
                                                {DNNL_ARG_WEIGHTS, pd.weights_desc(), weights},
                                                {DNNL_ARG_DST, p.out, out.data}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, bias_layout, bias->data});
  b.emit(dnnl::matmul(pd), pd.scratchpad_desc(), std::move(arguments));
}

}  // namespace

void build_matmul(plan_builder& b) {
  const auto &x = b.plain_fp32(0), &w = b.plain_fp32(1);
  const auto mismatch = [&] {
    b.fail(fmt::format("cannot multiply {} by {}", to_string(x.dims), to_string(w.dims)));
  };
  if (x.dims.empty() || w.dims.empty()) mismatch();
  shape left = x.dims, right = w.dims;
  if (left.size() == 1) left.insert(left.begin(), 1);
  if (right.size() == 1) right.push_back(1);
  const int64_t inner = left.back(), columns = right.back();
  if (right[right.size() - 2] != inner) mismatch();

  const shape left_batch(left.begin(), left.end() - 2), right_batch(right.begin(), right.end() - 2);
  const auto batch = broadcast::of(left_batch, right_batch);
  if (!batch) mismatch();
  shape out_dims = batch->result;
  if (x.dims.size() > 1) out_dims.push_back(left[left.size() - 2]);
  if (w.dims.size() > 1) out_dims.push_back(columns);

  product p;
  if (right.size() == 2) {  // one right matrix for all: one product of many rows
    const int64_t rows = x.elements() / inner;
    p = {matrix(rows, inner, false), matrix(inner, columns, false), matrix(rows, columns, false), out_dims};
  } else {
    const size_t rank = batch->result.size() + 2;
    const auto padded = [rank](shape s) {
      s.insert(s.begin(), rank - s.size(), 1);
      return plain_layout(s);
    };
    shape out = batch->result;
    out.push_back(left[left.size() - 2]);
    out.push_back(columns);
    p = {padded(left), padded(right), plain_layout(out), out_dims};
  }
  const auto bias = !out_dims.empty() && out_dims.back() == columns ? b.take_bias(columns) : std::nullopt;
  emit_product(b, p, x.data, w, bias);
}

void build_gemm(plan_builder& b) {
  const auto &x = b.plain_fp32(0), &w = b.plain_fp32(1);
  const bool x_turned = b.integer("transA", 0) != 0, w_turned = b.integer("transB", 0) != 0;
  if (x.dims.size() != 2 || w.dims.size() != 2) b.fail("its inputs must have two dimensions");
  const int64_t rows = x.dims[x_turned], inner = x.dims[!x_turned], columns = w.dims[!w_turned];
  if (w.dims[w_turned] != inner) {
    b.fail(fmt::format("cannot multiply {} by {}", to_string(x.dims), to_string(w.dims)));
  }
  product p{matrix(rows, inner, x_turned),
            matrix(inner, columns, w_turned),
            matrix(rows, columns, false),
            {rows, columns},
            b.number("alpha", 1)};
  if (!b.has(2)) return emit_product(b, p, x.data, w, std::nullopt);

  const auto& c = b.plain_fp32(2);
  const float beta = b.number("beta", 1);
  if (beta == 1 && p.scale == 1 && (c.dims == shape{columns} || c.dims == shape{1, columns})) {
    return emit_product(b, p, x.data, w, c);
  }
  const auto walk = broadcast::of(p.out_dims, c.dims);
  if (!walk || walk->result != p.out_dims) b.fail(fmt::format("cannot add {}", to_string(c.dims)));
  p.fuse = false;
  emit_product(b, p, x.data, w, std::nullopt);
  const address out = b.lookup(b.current().outputs.front()).data;
  b.emit([out, add = c.data, beta, walk = *walk] {
    auto* r = reinterpret_cast<float*>(*out);
    const auto* q = reinterpret_cast<const float*>(*add);
    walk.for_each_run([&](int64_t at, int64_t, int64_t j, int64_t n, int64_t, int64_t step) {
      for (int64_t k = 0; k < n; ++k) r[at + k] += beta * q[j + k * step];
    });
  });
}

}  // namespace troupe::onnx
