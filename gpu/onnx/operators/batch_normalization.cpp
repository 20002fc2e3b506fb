// BatchNormalization at inference, in the input's layout. Behind a convolution it was fused before
// (gpu/onnx/fusion.hpp).
#include <fmt/format.h>

#include "gpu/onnx/memory_layout.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

void build_batch_normalization(plan_builder& b) {
  if (b.integer("training_mode", 0) != 0) b.fail("is in training mode: export the model for inference");
  const auto& x = b.in_fp32(0);
  if (x.dims.size() < 2 || x.dims.size() > 5) b.fail(fmt::format("cannot normalise {}", to_string(x.dims)));
  const int64_t channels = x.dims[1];
  const auto layout = x.plain ? plain_layout(x.dims) : x.layout;
  const auto vector_layout = plain_layout({channels});
  using dnnl::normalization_flags;
  const dnnl::batch_normalization_forward::primitive_desc pd(
      {dnnl::prop_kind::forward_inference, layout, b.number("epsilon", 1e-5F),
       normalization_flags::use_global_stats | normalization_flags::use_scale |
           normalization_flags::use_shift},
      plan_builder::attributes(), cpu_engine());
  std::vector<plan_builder::argument> arguments{{DNNL_ARG_SRC, layout, x.data}};
  const int kinds[] = {DNNL_ARG_SCALE, DNNL_ARG_SHIFT, DNNL_ARG_MEAN, DNNL_ARG_VARIANCE};
  for (size_t i = 0; i < 4; ++i) {
    const auto& v = b.plain_fp32(1 + i);
    if (v.dims != shape{channels}) {
      b.fail(fmt::format("cannot normalise {} channels with {}", channels, to_string(v.dims)));
    }
    arguments.push_back({kinds[i], vector_layout, v.data});
  }
  arguments.push_back({DNNL_ARG_DST, layout, b.output(0, x.dims, layout).data});
  b.emit(dnnl::batch_normalization_forward(pd), pd.scratchpad_desc(), std::move(arguments));
}

}  // namespace troupe::onnx
