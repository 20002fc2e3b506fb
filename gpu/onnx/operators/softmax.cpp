// Softmax. Up to opset 12 it normalises over all dimensions from `axis` on, since 13 over that one alone.
#include "gpu/onnx/memory_layout.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

void build_softmax(plan_builder& b) {
  const auto& x = b.plain_fp32(0);
  if (x.dims.empty()) b.fail("needs at least one dimension");
  const bool flattens = b.opset() < 13;
  const auto axis = static_cast<size_t>(b.axis(b.integer("axis", flattens ? 1 : -1), x.dims.size()));
  shape seen{1, 1, 1};  // before the axis, along it, behind it
  for (size_t i = 0; i < x.dims.size(); ++i) seen[i < axis ? 0 : i == axis || flattens ? 1 : 2] *= x.dims[i];

  const auto layout = plain_layout(seen);
  const dnnl::softmax_forward::primitive_desc pd({dnnl::prop_kind::forward_inference, layout, 1},
                                                 plan_builder::attributes(), cpu_engine());
  const auto& y = b.output(0, x.type, x.dims);
  b.emit(dnnl::softmax_forward(pd), pd.scratchpad_desc(),
         {{DNNL_ARG_SRC, layout, x.data}, {DNNL_ARG_DST, layout, y.data}});
}

}  // namespace troupe::onnx
