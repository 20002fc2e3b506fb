// MaxPool, AveragePool, GlobalMaxPool, GlobalAveragePool.
#include "gpu/onnx/operators/pool.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "gpu/onnx/memory_layout.hpp"
#include "gpu/onnx/operators/window.hpp"

namespace troupe::onnx {

namespace {

void emit_pool(plan_builder& b, const value& x, dnnl::algorithm algorithm, const window& w) {
  const shape out_dims = joined(std::span{x.dims}.first(2), w.output);
  const auto layout = x.plain ? plain_layout(x.dims) : x.layout;
  const dnnl::pooling_v2_forward::primitive_desc pd(
      {dnnl::prop_kind::forward_inference, algorithm, layout, any_layout(out_dims), w.strides, w.kernel,
       w.dilations_from_zero(), w.before, w.after},
      plan_builder::attributes(), cpu_engine());
  const auto& out = b.output(0, out_dims, pd.dst_desc());
  b.count_pooled(static_cast<double>(element_count(out_dims)) * static_cast<double>(element_count(w.kernel)));
  b.emit(dnnl::pooling_v2_forward(pd), pd.scratchpad_desc(),
         {{DNNL_ARG_SRC, layout, x.data}, {DNNL_ARG_DST, pd.dst_desc(), out.data}});
}

/// How many of the `n` numbers first, first + step, ... are in [from, to).
int64_t count_within(int64_t first, int64_t step, int64_t n, int64_t from, int64_t to) {
  const auto below = [&](int64_t x) { return std::clamp<int64_t>((x - first + step - 1) / step, 0, n); };
  return std::max<int64_t>(0, below(std::max(to, first)) - below(std::max(from, first)));
}

/// Corrects the divisor of an average that includes padding: oneDNN divides by the whole kernel, but the part
/// of a window that `ceil_mode` puts beyond the padding must not count.
void emit_divisor_correction(plan_builder& b, const shape& input, const window& w) {
  const size_t rank = input.size();
  // For every output position: elements of the input under its window / elements that count.
  std::vector<float> scale(static_cast<size_t>(element_count(w.output)), 1);
  size_t repeat = scale.size();  // output elements per position of this dimension
  for (size_t d = 0; d < rank; ++d) {
    const auto positions = static_cast<size_t>(w.output[d]);
    repeat /= positions;
    for (size_t i = 0; i < scale.size(); ++i) {
      const auto first = static_cast<int64_t>(i / repeat % positions) * w.strides[d] - w.before[d];
      const auto seen = count_within(first, w.dilations[d], w.kernel[d], 0, input[d]);
      const auto counts = count_within(first, w.dilations[d], w.kernel[d], first, input[d] + w.counted[d]);
      scale[i] *= static_cast<float>(seen) / static_cast<float>(counts);
    }
  }
  const auto name = b.current().outputs.front();
  const value mean = b.plain_of(name);
  const auto& out = b.output(0, mean.type, mean.dims);
  b.emit([in = mean.data, to = out.data, scale, n = static_cast<size_t>(mean.elements())] {
    const auto* p = reinterpret_cast<const float*>(*in);
    auto* r = reinterpret_cast<float*>(*to);
    for (size_t i = 0; i < n; ++i) r[i] = p[i] * scale[i % scale.size()];
  });
}

void emit_global(plan_builder& b, const value& x, dnnl::algorithm algorithm) {
  window whole;
  whole.kernel.assign(x.dims.begin() + 2, x.dims.end());
  for (auto* ones : {&whole.strides, &whole.dilations, &whole.output}) ones->resize(whole.kernel.size(), 1);
  for (auto* zeros : {&whole.before, &whole.after}) zeros->resize(whole.kernel.size(), 0);
  emit_pool(b, x, algorithm, whole);
}

}  // namespace

void emit_global_average(plan_builder& b, const value& x) {
  emit_global(b, x, dnnl::algorithm::pooling_avg_exclude_padding);
}

bool has_spatial_dimensions(const value& x) { return x.dims.size() >= 3 && x.dims.size() <= 5; }

void build_global_pool(plan_builder& b) {
  const auto& x = b.in_fp32(0);
  if (!has_spatial_dimensions(x)) b.fail(fmt::format("cannot pool {}", to_string(x.dims)));
  const bool max = b.current().op == "GlobalMaxPool";
  emit_global(b, x, max ? dnnl::algorithm::pooling_max : dnnl::algorithm::pooling_avg_exclude_padding);
}

void build_pool(plan_builder& b) {
  const auto& x = b.in_fp32(0);
  if (!has_spatial_dimensions(x)) b.fail(fmt::format("cannot pool {}", to_string(x.dims)));
  const shape input(x.dims.begin() + 2, x.dims.end());
  const auto kernel = b.integers("kernel_shape");
  if (!kernel) b.fail("attribute 'kernel_shape' is missing");
  const auto w = read_window(b, input, *kernel);
  for (size_t i = 0; i < input.size(); ++i) {
    if (w.before[i] >= w.extent(i)) b.fail("a window lies entirely in the padding");
  }
  if (b.current().op == "MaxPool") return emit_pool(b, x, dnnl::algorithm::pooling_max, w);
  if (b.integer("count_include_pad", 0) == 0) {
    return emit_pool(b, x, dnnl::algorithm::pooling_avg_exclude_padding, w);
  }
  if (w.counted == w.after) return emit_pool(b, x, dnnl::algorithm::pooling_avg_include_padding, w);
  emit_pool(b, x, dnnl::algorithm::pooling_avg_exclude_padding, w);
  emit_divisor_correction(b, input, w);
}

}  // namespace troupe::onnx
