// ConvTranspose: 1 to 3 spatial dimensions, groups, bias; an activation behind it is fused.
#include <fmt/format.h>

#include <algorithm>

#include "gpu/onnx/memory_layout.hpp"
#include "gpu/onnx/operators/window.hpp"

namespace troupe::onnx {

namespace {

/// ONNX stores the weights as [channels, features / groups, ...]; oneDNN reads them as [groups, features /
/// groups, channels / groups, ...] (without the first dimension if there is one group).
dnnl::memory::desc weights_view(const shape& dims, int64_t groups) {
  const shape steps = strides_of(dims);
  shape seen{groups, dims[1], dims[0] / groups};
  shape seen_steps{dims[0] / groups * steps[0], steps[1], steps[0]};
  seen = joined(seen, std::span{dims}.subspan(2));
  seen_steps = joined(seen_steps, std::span{steps}.subspan(2));
  if (groups == 1) {
    seen.erase(seen.begin());
    seen_steps.erase(seen_steps.begin());
  }
  return {seen, dnnl::memory::data_type::f32, seen_steps};
}

}  // namespace

void build_conv_transpose(plan_builder& b) {
  const auto &x = b.in_fp32(0), &w = b.plain_fp32(1);
  const int64_t groups = b.integer("group", 1);
  if (x.dims.size() < 3 || w.dims.size() != x.dims.size() || groups < 1 || x.dims[1] % groups != 0 ||
      w.dims[0] != x.dims[1]) {
    b.fail(
        fmt::format("cannot convolve {} with {} in {} groups", to_string(x.dims), to_string(w.dims), groups));
  }
  const int64_t features = w.dims[1] * groups;
  const auto kernel = kernel_of(b, w.dims);
  const auto frame = read_transposed_window(b, {x.dims.begin() + 2, x.dims.end()}, kernel);
  const shape out_dims = joined(shape{x.dims[0], features}, frame.output);
  std::optional<value> bias;
  if (b.has(2)) {
    bias = b.plain_fp32(2);
    if (bias->dims != shape{features}) b.fail(fmt::format("its bias has shape {}", to_string(bias->dims)));
  }

  const auto given = weights_view(w.dims, groups);
  auto attributes = plan_builder::attributes();
  dnnl::post_ops behind;
  b.take_activation(behind, out_dims.size());
  attributes.set_post_ops(behind);
  const auto bias_layout = bias ? plain_layout(bias->dims) : dnnl::memory::desc{};
  const dnnl::deconvolution_forward::desc d(
      dnnl::prop_kind::forward_inference, dnnl::algorithm::deconvolution_direct, any_layout(x.dims),
      any_layout(given.dims()), bias_layout, any_layout(out_dims), frame.strides, frame.dilations_from_zero(),
      frame.before, frame.after);
  const dnnl::deconvolution_forward::primitive_desc pd(d, attributes, cpu_engine());
  const auto source = b.in_layout(x, pd.src_desc());
  const address weights = b.packed(w, given, pd.weights_desc());
  const double products =
      static_cast<double>(x.elements()) * static_cast<double>(element_count(w.dims) / w.dims[0]);
  b.count_flops(2 * products);
  const auto& out = b.output(0, out_dims, pd.dst_desc());
  std::vector<plan_builder::argument> arguments{{DNNL_ARG_SRC, pd.src_desc(), source.data},
                                                {DNNL_ARG_WEIGHTS, pd.weights_desc(), weights},
                                                {DNNL_ARG_DST, pd.dst_desc(), out.data}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, bias_layout, bias->data});
  b.emit(dnnl::deconvolution_forward(pd), pd.scratchpad_desc(), std::move(arguments));
}

}  // namespace troupe::onnx
