// LayerNormalization over the dimensions from `axis` on, with scale and optional shift.
#include <fmt/format.h>

#include "gpu/onnx/memory_layout.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

void build_layer_normalization(plan_builder& b) {
  const auto &x = b.plain_fp32(0), &scale = b.plain_fp32(1);
  const auto axis = b.axis(b.integer("axis", -1), x.dims.size());
  shape seen{1, 1};  // outer, normalised
  for (size_t i = 0; i < x.dims.size(); ++i) seen[static_cast<int64_t>(i) >= axis] *= x.dims[i];
  const auto check = [&](const value& v) {
    if (v.elements() != seen[1]) b.fail(fmt::format("cannot scale or shift by {}", to_string(v.dims)));
  };
  check(scale);

  const auto layout = plain_layout(seen), vector_layout = plain_layout({seen[1]});
  auto flags = dnnl::normalization_flags::use_scale;
  if (b.has(2)) flags |= dnnl::normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::primitive_desc pd(
      {dnnl::prop_kind::forward_inference, layout, b.number("epsilon", 1e-5F), flags},
      plan_builder::attributes(), cpu_engine());
  const auto& y = b.output(0, x.type, x.dims);
  std::vector<plan_builder::argument> arguments{{DNNL_ARG_SRC, layout, x.data},
                                                {DNNL_ARG_SCALE, vector_layout, scale.data},
                                                {DNNL_ARG_DST, layout, y.data}};
  if (b.has(2)) {
    const auto& shift = b.plain_fp32(2);
    check(shift);
    arguments.push_back({DNNL_ARG_SHIFT, vector_layout, shift.data});
  }
  b.emit(dnnl::layer_normalization_forward(pd), pd.scratchpad_desc(), std::move(arguments));
}

}  // namespace troupe::onnx
