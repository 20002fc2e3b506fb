// Checks the reference loops for GPUs against oneDNN.
#include "tests/gpu/kernels/cuda/conv_reference.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <oneapi/dnnl/dnnl.hpp>
#include <random>
#include <vector>

#include "tests/gpu/kernels/cuda/conv_case.hpp"
#include "tests/gpu/kernels/cuda/emulated_machine.hpp"

using namespace troupe;
using namespace troupe::cuda;

namespace {

using dnnl::memory;

memory::dims with(memory::dims first, const conv_args& a, const uint32_t* extent, uint32_t less = 0) {
  for (uint32_t d = 0; d < a.dims; ++d) first.push_back(extent[d] - less);
  return first;
}

/// The layout [outer, inner, extent...].
memory::desc lying(const conv_args& a, int64_t outer, int64_t inner, const uint32_t* extent) {
  const memory::dims dims = with({outer, inner}, a, extent);
  memory::dims steps(dims.size());
  int64_t step = 1;
  if (a.channels_last) steps[1] = 1, step = inner;
  for (size_t d = dims.size(); d-- > 2; step *= dims[d]) steps[d] = step;
  if (!a.channels_last) steps[1] = step, step *= inner;
  steps[0] = step;
  return {dims, memory::data_type::f32, steps};
}

/// The weights in oneDNN's shape: [groups, features / groups, channels / groups, ...].
memory::desc lying_weights(const conv_args& a) {
  const int64_t c = a.channels / a.groups, f = a.features / a.groups, groups = a.groups;
  const auto whole = lying(a, a.transposed ? a.channels : a.features, a.transposed ? f : c, a.kernel);
  const auto& steps = whole.data.format_desc.blocking.strides;
  memory::dims dims{groups, f, c},
      dim_steps{(a.transposed ? c : f) * steps[0], steps[a.transposed ? 1 : 0], steps[a.transposed ? 0 : 1]};
  dims = with(dims, a, a.kernel);
  for (uint32_t d = 0; d < a.dims; ++d) dim_steps.push_back(steps[2 + d]);
  return {dims, memory::data_type::f32, dim_steps};
}

std::vector<float> by_onednn(conv_args a) {
  dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(cpu);
  const auto f32 = memory::data_type::f32;
  const auto any = [&](const memory::desc& d) {
    return memory::desc(d.dims(), f32, memory::format_tag::any);
  };
  std::vector<float> zeros(a.features), y(y_size(a));
  const memory x(lying(a, a.batch, a.channels, a.in), cpu, const_cast<float*>(a.x));
  const memory w(lying_weights(a), cpu, const_cast<float*>(a.w));
  const memory bias({{a.features}, f32, memory::format_tag::a}, cpu,
                    a.bias == nullptr ? zeros.data() : const_cast<float*>(a.bias));
  memory out(lying(a, a.batch, a.features, a.out), cpu, y.data());
  const memory::dims stride = with({}, a, a.stride), dilation = with({}, a, a.dilation, 1),
                     pad = with({}, a, a.pad);
  const auto go = [&](const auto& pd, auto primitive) {
    memory own_x(pd.src_desc(), cpu), own_w(pd.weights_desc(), cpu), own_y(pd.dst_desc(), cpu);
    dnnl::reorder(x, own_x).execute(stream, const_cast<memory&>(x), own_x);
    dnnl::reorder(w, own_w).execute(stream, const_cast<memory&>(w), own_w);
    primitive.execute(
        stream,
        {{DNNL_ARG_SRC, own_x}, {DNNL_ARG_WEIGHTS, own_w}, {DNNL_ARG_BIAS, bias}, {DNNL_ARG_DST, own_y}});
    dnnl::reorder(own_y, out).execute(stream, own_y, out);
    stream.wait();
  };
  const auto inference = dnnl::prop_kind::forward_inference;
  if (a.transposed) {
    const dnnl::deconvolution_forward::primitive_desc pd(
        {inference, dnnl::algorithm::deconvolution_direct, any(x.get_desc()), any(w.get_desc()),
         bias.get_desc(), any(out.get_desc()), stride, dilation, pad, pad},
        cpu);
    go(pd, dnnl::deconvolution_forward(pd));
  } else {
    const dnnl::convolution_forward::primitive_desc pd(
        {inference, dnnl::algorithm::convolution_direct, any(x.get_desc()), any(w.get_desc()),
         bias.get_desc(), any(out.get_desc()), stride, dilation, pad, pad},
        cpu);
    go(pd, dnnl::convolution_forward(pd));
  }
  for (size_t i = 0; i < y.size(); ++i) {
    if (a.residual != nullptr) y[i] += a.residual[i];
    if (a.relu) y[i] = std::max(y[i], 0.0F);
  }
  return y;
}

}  // namespace

TEST_CASE("convolutions of the emulated machine equal those of oneDNN") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    conv_case c = random_convolution(random);
    CAPTURE(to_string(c.args));
    conv_reference(c.args);
    CHECK(distance(c.y, by_onednn(c.args)) < 1e-4);
    emulated_machine machine;
    if (!machine.prepare(c.args)) c.args = c.args.without_epilogue();
    machine.convolve(c.args);
    machine.finish();
    CHECK(distance(c.y, by_onednn(c.args)) < 1e-4);
    CHECK(c.y.intact());
  }
}

TEST_CASE("a convolution with its result as residual adds to the result") {
  std::mt19937 random(3);
  conv_args a;
  a.batch = 1, a.channels = a.features = 2;
  for (const int d : {0, 1}) a.in[d] = a.out[d] = 3, a.kernel[d] = a.stride[d] = a.dilation[d] = 1;
  conv_case c(a, false, true, random);
  const std::vector<float> expected = by_onednn(c.args);
  for (size_t i = 0; i < c.y.size(); ++i) c.y[i] = c.residual[i];
  c.args.residual = c.y.data();
  emulated_machine machine;
  machine.convolve(c.args);
  machine.finish();
  CHECK(distance(c.y, expected) < 1e-5);
}

TEST_CASE("convolutions in TF32 round only the multiplied operands") {
  CHECK(to_tf32(1 + 0x1p-10F) == 1 + 0x1p-10F);
  CHECK(to_tf32(1 + 0x1p-11F) == 1 + 0x1p-10F);
  CHECK(to_tf32(-1 - 0x1p-11F) == -1 - 0x1p-10F);
  CHECK(to_tf32(1 + 0x1.fp-12F) == 1);
  CHECK(to_tf32(2 - 0x1p-20F) == 2);
  CHECK(to_tf32(INFINITY) == INFINITY);
  CHECK(std::isnan(to_tf32(std::nanf(""))));
  std::mt19937 random(5);
  for (int round = 0; round < 10; ++round) {
    conv_case c = random_convolution(random);
    c.args.tf32 = true;
    conv_reference(c.args);
    const std::vector<float> rounded = c.y.values();
    c.args.tf32 = false;
    for (auto* a : {&c.x, &c.w})
      for (size_t i = 0; i < a->size(); ++i) {
        int exponent = 0;
        const float fraction = std::frexp((*a)[i], &exponent);  // 11 bits with the leading one
        (*a)[i] = std::ldexp(std::round(fraction * 2048) / 2048, exponent);
      }
    CHECK(distance(c.y, rounded) == 0);
    conv_reference(c.args);
    CHECK(distance(c.y, rounded) == 0);
  }
}
