// Relu, Clip, Tanh, Sigmoid, Sqrt, Exp (through oneDNN, in any layout) and Erf.
#include <algorithm>
#include <limits>

#include "gpu/onnx/activation.hpp"
#include "gpu/onnx/memory_layout.hpp"
#include "gpu/onnx/plan_builder.hpp"

namespace troupe::onnx {

namespace {

float clip_limit(plan_builder& b, size_t i, float otherwise) {
  if (!b.has(i)) return otherwise;
  const auto limit = b.constant_scalar(i);
  if (!limit) b.fail("its limits must be fp32 scalars that are known when the model is loaded");
  return *limit;
}

/// erf as a rational function of odd degree 13 over even degree 8 on [-4, 4], where it reaches 1 in fp32; the
/// coefficients are those of Eigen's generic_fast_erf_float. Within 3e-7 of the exact value.
float fast_erf(float x) {
  x = std::min(std::max(x, -4.0F), 4.0F);
  const float s = x * x;
  float p = -2.72614225801306e-10F;
  p = p * s + 2.77068142495902e-08F;
  p = p * s - 2.10102402082508e-06F;
  p = p * s - 5.69250639462346e-05F;
  p = p * s - 7.34990630326855e-04F;
  p = p * s - 2.95459980854025e-03F;
  p = p * s - 1.60960333262415e-02F;
  float q = -1.45660718464996e-05F;
  q = q * s - 2.13374055278905e-04F;
  q = q * s - 1.68282697438203e-03F;
  q = q * s - 7.37332916720468e-03F;
  q = q * s - 1.42647390514189e-02F;
  return x * p / q;
}

void build_erf(plan_builder& b) {
  const auto& x = b.plain_fp32(0);
  const auto& y = b.output(0, x.type, x.dims);
  b.emit([in = x.data, out = y.data, n = x.elements()] {
    const auto* p = reinterpret_cast<const float*>(*in);
    auto* r = reinterpret_cast<float*>(*out);
    for (int64_t i = 0; i < n; ++i) r[i] = fast_erf(p[i]);
  });
}

}  // namespace

std::optional<activation> activation_of(plan_builder& b) {
  using dnnl::algorithm;
  const auto& op = b.current().op;
  if (op == "Relu") return activation{algorithm::eltwise_relu, 0, 0};
  if (op == "Tanh") return activation{algorithm::eltwise_tanh, 0, 0};
  if (op == "Sigmoid") return activation{algorithm::eltwise_logistic, 0, 0};
  if (op == "Sqrt") return activation{algorithm::eltwise_sqrt, 0, 0};
  if (op == "Exp") return activation{algorithm::eltwise_exp, 0, 0};
  if (op == "Clip") {
    const float low = clip_limit(b, 1, std::numeric_limits<float>::lowest());
    return activation{algorithm::eltwise_clip, low, clip_limit(b, 2, std::numeric_limits<float>::max())};
  }
  return std::nullopt;
}

void build_unary(plan_builder& b) {
  const auto function = activation_of(b);
  if (!function) return build_erf(b);
  const auto& x = b.in_fp32(0);
  const auto layout = x.plain ? plain_layout(x.dims) : x.layout;
  const dnnl::eltwise_forward::primitive_desc pd(
      {dnnl::prop_kind::forward_inference, function->algorithm, layout, function->alpha, function->beta},
      plan_builder::attributes(), cpu_engine());
  const auto& y = b.output(0, x.dims, layout);
  b.emit(dnnl::eltwise_forward(pd), pd.scratchpad_desc(),
         {{DNNL_ARG_SRC, layout, x.data}, {DNNL_ARG_DST, layout, y.data}});
}

}  // namespace troupe::onnx
