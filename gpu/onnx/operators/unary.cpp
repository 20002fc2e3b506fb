// Elementwise functions of one tensor: all except Erf through oneDNN, in any layout.
#include <algorithm>
#include <limits>

#include "gpu/onnx/activation_function.hpp"
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

std::vector<activation_function> activation_functions_of(plan_builder& b) {
  using dnnl::algorithm;
  const auto& op = b.current().op;
  if (op == "Relu") return {{algorithm::eltwise_relu}};
  if (op == "LeakyRelu") return {{algorithm::eltwise_relu, b.number("alpha", 0.01F)}};
  if (op == "Tanh") return {{algorithm::eltwise_tanh}};
  if (op == "Sigmoid") return {{algorithm::eltwise_logistic}};
  if (op == "Sqrt") return {{algorithm::eltwise_sqrt}};
  if (op == "Exp") return {{algorithm::eltwise_exp}};
  if (op == "HardSwish") return {{algorithm::eltwise_hardswish}};
  if (op == "HardSigmoid") {
    return {{algorithm::eltwise_linear, b.number("alpha", 0.2F), b.number("beta", 0.5F)},
            {algorithm::eltwise_clip, 0, 1}};
  }
  if (op == "Clip") {
    const float low = clip_limit(b, 1, std::numeric_limits<float>::lowest());
    const float high = clip_limit(b, 2, std::numeric_limits<float>::max());
    return {{algorithm::eltwise_clip, std::min(low, high), high}};  // if the limits cross, the upper one wins
  }
  return {};
}

void build_unary(plan_builder& b) {
  const auto functions = activation_functions_of(b);
  if (functions.empty()) return build_erf(b);
  const auto& x = b.in_fp32(0);
  const auto layout = x.plain ? plain_layout(x.dims) : x.layout;
  const auto& y = b.output(0, x.dims, layout);
  address source = x.data;
  for (const auto& f : functions) {
    const dnnl::eltwise_forward::primitive_desc pd(
        {dnnl::prop_kind::forward_inference, f.algorithm, layout, f.alpha, f.beta},
        plan_builder::attributes(), cpu_engine());
    b.emit(dnnl::eltwise_forward(pd), pd.scratchpad_desc(),
           {{DNNL_ARG_SRC, layout, source}, {DNNL_ARG_DST, layout, y.data}});
    source = y.data;
  }
}

}  // namespace troupe::onnx
