// Conv: 1 to 3 spatial dimensions, groups, bias; a residual and an activation behind it are fused.
#include <fmt/format.h>

#include "gpu/onnx/memory_layout.hpp"
#include "gpu/onnx/operators/window.hpp"

namespace troupe::onnx {

void build_conv(plan_builder& b) {
  const auto &x = b.in_fp32(0), &w = b.plain_fp32(1);
  if (x.dims.size() < 3 || w.dims.size() != x.dims.size()) {
    b.fail(fmt::format("cannot convolve {} with {}", to_string(x.dims), to_string(w.dims)));
  }
  const int64_t groups = b.integer("group", 1), channels = x.dims[1], features = w.dims[0];
  if (groups < 1 || channels % groups != 0 || features % groups != 0 || w.dims[1] != channels / groups) {
    b.fail(
        fmt::format("cannot convolve {} with {} in {} groups", to_string(x.dims), to_string(w.dims), groups));
  }
  const auto kernel = kernel_of(b, w.dims);
  const auto frame = read_window(b, {x.dims.begin() + 2, x.dims.end()}, kernel);

  const shape out_dims = joined(shape{x.dims[0], features}, frame.output);
  shape weight_dims = w.dims;  // oneDNN wants [groups, features / groups, channels / groups, ...]
  if (groups > 1) {
    weight_dims[0] /= groups;
    weight_dims.insert(weight_dims.begin(), groups);
  }
  std::optional<value> bias;
  if (b.has(2)) {
    bias = b.plain_fp32(2);
    if (bias->dims != shape{features}) b.fail(fmt::format("its bias has shape {}", to_string(bias->dims)));
  }

  const auto bias_layout = bias ? plain_layout(bias->dims) : dnnl::memory::desc{};
  const auto describe = [&](const dnnl::memory::desc& out_layout, const dnnl::post_ops& behind) {
    auto attributes = plan_builder::attributes();
    attributes.set_post_ops(behind);
    const dnnl::convolution_forward::desc d(dnnl::prop_kind::forward_inference,
                                            dnnl::algorithm::convolution_direct, any_layout(x.dims),
                                            any_layout(weight_dims), bias_layout, out_layout, frame.strides,
                                            frame.dilations_from_zero(), frame.before, frame.after);
    return dnnl::convolution_forward::primitive_desc(d, attributes, cpu_engine());
  };
  dnnl::post_ops behind;
  auto out_layout = any_layout(out_dims);
  auto residual = b.residual(out_dims);
  if (residual && describe(out_layout, {}).dst_desc() != residual->layout) residual.reset();
  if (residual) {
    behind.append_sum();
    out_layout = residual->layout;
    b.take_residual();
  }
  b.take_activation(behind, out_dims.size());
  const auto pd = describe(out_layout, behind);
  const auto source = b.in_layout(x, pd.src_desc());
  const address weights = b.packed(w, plain_layout(weight_dims), pd.weights_desc());
  const double products =
      static_cast<double>(element_count(out_dims)) * static_cast<double>(element_count(w.dims));
  b.count_flops(2 * products / static_cast<double>(features));
  const auto& out = residual ? b.output_in_place(*residual) : b.output(0, out_dims, pd.dst_desc());
  std::vector<plan_builder::argument> arguments{{DNNL_ARG_SRC, pd.src_desc(), source.data},
                                                {DNNL_ARG_WEIGHTS, pd.weights_desc(), weights},
                                                {DNNL_ARG_DST, pd.dst_desc(), out.data}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, bias_layout, bias->data});
  b.emit(dnnl::convolution_forward(pd), pd.scratchpad_desc(), std::move(arguments));
}

}  // namespace troupe::onnx
