// Convolutions: the emulated machine's loops against oneDNN; on a GPU, cuDNN against the loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "gpu/cuda/conv_args.hpp"
#include "tests/gpu/cuda/conv_reference.hpp"
#include "tests/gpu/cuda/machine.hpp"
#ifdef __CUDACC__
#include "gpu/cuda/conv.hpp"
#else
#include <oneapi/dnnl/dnnl.hpp>

#include "tests/gpu/cuda/emulated_machine.hpp"
#endif

using namespace troupe;
using namespace troupe::cuda;

namespace {

size_t positions(const conv_args& a, const uint32_t* extent) {
  size_t all = 1;
  for (uint32_t d = 0; d < a.dims; ++d) all *= extent[d];
  return all;
}
size_t x_size(const conv_args& a) { return size_t{a.batch} * a.channels * positions(a, a.in); }
size_t y_size(const conv_args& a) { return size_t{a.batch} * a.features * positions(a, a.out); }
size_t w_size(const conv_args& a) {
  return size_t{a.channels} * a.features / a.groups * positions(a, a.kernel);
}

/// The side of y, or transposed of x, that follows from the other.
uint32_t positions_of(const conv_args& a, uint32_t d, uint32_t many) {
  return (many + 2 * a.pad[d] - a.dilation[d] * (a.kernel[d] - 1) - 1) / a.stride[d] + 1;
}

/// A convolution with its numbers.
struct conv_case {
  conv_case(const conv_args& shape, bool has_bias, bool has_residual, std::mt19937& random)
      : args(shape),
        x(x_size(shape)),
        w(w_size(shape)),
        bias(shape.features),
        residual(y_size(shape)),
        y(y_size(shape)) {
    for (auto* a : {&x, &w, &bias, &residual})
      for (size_t i = 0; i < a->size(); ++i) (*a)[i] = static_cast<float>(random() % 20001) / 10000 - 1;
    args.x = x.data(), args.w = w.data(), args.y = y.data();
    if (has_bias) args.bias = bias.data();
    if (has_residual) args.residual = residual.data();
  }
  conv_args args;
  shared_array<float> x, w, bias, residual, y;
};

conv_case random_case(std::mt19937& random) {
  const auto draw = [&](uint32_t least, uint32_t most) {
    return least + static_cast<uint32_t>(random() % (most - least + 1));
  };
  conv_args a;
  a.dims = draw(1, 3), a.batch = draw(1, 3), a.groups = draw(0, 1) == 0 ? 1 : draw(1, 3);
  a.channels = a.groups * draw(1, 5), a.features = a.groups * draw(1, 5);
  a.transposed = draw(0, 2) == 0, a.channels_last = draw(0, 1) == 0, a.relu = draw(0, 1) == 0;
  for (uint32_t d = 0; d < a.dims; ++d) {
    a.kernel[d] = draw(1, 3), a.stride[d] = draw(1, 3), a.dilation[d] = draw(1, 2);
    const uint32_t reach = a.dilation[d] * (a.kernel[d] - 1) + 1;
    a.pad[d] = draw(0, std::min(2U, (reach - 1) / 2));
    if (a.transposed) {  // whatever of y no position of x reaches is what ONNX calls output padding
      a.in[d] = draw(1, 5);
      a.out[d] = (a.in[d] - 1) * a.stride[d] + reach - 2 * a.pad[d] + draw(0, a.stride[d] - 1);
    } else {
      a.in[d] = reach + draw(0, 6);
      a.out[d] = positions_of(a, d, a.in[d]);
    }
  }
  return {a, draw(0, 1) == 0, draw(0, 1) == 0, random};
}

/// The largest difference; infinite where either is not a number.
double distance(const shared_array<float>& a, const std::vector<float>& b) {
  double most = 0;
  for (size_t i = 0; i < b.size(); ++i) {
    const double apart = std::abs(double{a[i]} - b[i]);
    most = std::isfinite(apart) ? std::max(most, apart) : INFINITY;
  }
  return most;
}

}  // namespace

#ifndef __CUDACC__

namespace {

using dnnl::memory;

memory::dims with(memory::dims first, const conv_args& a, const uint32_t* extent, uint32_t less = 0) {
  for (uint32_t d = 0; d < a.dims; ++d) first.push_back(extent[d] - less);
  return first;
}

/// [outer, inner, extent...] as it lies.
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

/// Weights as oneDNN sees them: [groups, features / groups, channels / groups, ...].
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

TEST_CASE("convolutions of the emulated machine are oneDNN's") {
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    conv_case c = random_case(random);
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

TEST_CASE("a convolution takes its bias, residual and relu only where the machine says so") {
  std::mt19937 random(2);
  conv_args a;
  a.dims = 1, a.batch = 1, a.channels = a.features = 2, a.in[0] = a.out[0] = 3;
  a.kernel[0] = a.stride[0] = a.dilation[0] = 1;
  conv_case c(a, true, false, random);
  emulated_machine machine;
  CHECK(machine.prepare(c.args));
  CHECK(std::isnan(c.y[0]));
  machine.replay(1, [&] { machine.convolve(c.args); });
  machine.finish();
  CHECK(distance(c.y, by_onednn(c.args)) < 1e-5);

  machine.fuse_convolutions(false);
  CHECK_FALSE(machine.prepare(c.args));
  CHECK_THROWS_AS(machine.convolve(c.args), conv_error);
  const conv_args bare = c.args.without_epilogue();
  CHECK(machine.prepare(bare));
  machine.replay(2, [&] { machine.convolve(bare); });
  machine.finish();
  CHECK(distance(c.y, by_onednn(bare)) < 1e-5);

  c.args.transposed = true;
  machine.fuse_convolutions(true);
  CHECK_FALSE(machine.prepare(c.args));
}

TEST_CASE("a convolution whose residual is its result adds to it") {
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

TEST_CASE("graphs have only convolutions that were prepared before") {
  std::mt19937 random(4);
  conv_case c = random_case(random);
  c.args = c.args.without_epilogue();
  emulated_machine machine;
  CHECK_THROWS_AS(machine.replay(1, [&] { machine.convolve(c.args); }), conv_error);
  CHECK_THROWS_AS(machine.replay(1, [&] { machine.prepare(c.args); }), conv_error);
  machine.convolve(c.args);  // outside it would prepare itself
}

TEST_CASE("convolutions in TF32 round what they multiply, and nothing else") {
  CHECK(to_tf32(1 + 0x1p-10F) == 1 + 0x1p-10F);
  CHECK(to_tf32(1 + 0x1p-11F) == 1 + 0x1p-10F);
  CHECK(to_tf32(-1 - 0x1p-11F) == -1 - 0x1p-10F);
  CHECK(to_tf32(1 + 0x1.fp-12F) == 1);
  CHECK(to_tf32(2 - 0x1p-20F) == 2);
  CHECK(to_tf32(INFINITY) == INFINITY);
  CHECK(std::isnan(to_tf32(std::nanf(""))));
  std::mt19937 random(5);
  for (int round = 0; round < 10; ++round) {
    conv_case c = random_case(random);
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

TEST_CASE("a convolution whose numbers do not fit together is refused, by name") {
  std::mt19937 random(6);
  conv_args good;
  good.batch = 1, good.channels = good.features = 4, good.groups = 2;
  for (const int d : {0, 1})
    good.in[d] = good.out[d] = 5, good.kernel[d] = good.stride[d] = good.dilation[d] = 1;
  conv_case c(good, false, false, random);
  check(c.args);
  const auto refused = [&](auto change, const char* why) {
    conv_args a = c.args;
    change(a);
    CHECK_THROWS_WITH_AS(check(a), doctest::Contains(why), conv_error);
  };
  refused([](conv_args& a) { a.out[0] = 4; },
          "a convolution of [1, 4, 5, 5] with [4, 2, 1, 1] to [1, 4, 4, 5] (groups 2, strides 1, 1, "
          "dilations 1, 1, "
          "pads 0, 0): the extents do not fit together");
  refused([](conv_args& a) { a.groups = 3; }, "groups");
  refused([](conv_args& a) { a.groups = 0; }, "groups");
  refused([](conv_args& a) { a.dims = 4; }, "spatial");
  refused([](conv_args& a) { a.stride[1] = 0; }, "at least 1");
  refused([](conv_args& a) { a.kernel[1] = 6; }, "fit together");
  refused([](conv_args& a) { a.batch = 0; }, "nothing");
  refused([](conv_args& a) { a.batch = 1U << 31; }, "2^31");
  refused([](conv_args& a) { ++a.x; }, "16 bytes");
}

#else

namespace {

/// What is left of `a` behind a convolution that did not take it.
void finish(const conv_args& a) {
  const size_t spatial = positions(a, a.out);
  for (size_t i = 0; i < y_size(a); ++i) {
    const size_t f = a.channels_last ? i % a.features : i / spatial % a.features;
    if (a.bias != nullptr) a.y[i] += a.bias[f];
    if (a.residual != nullptr) a.y[i] += a.residual[i];
    if (a.relu) a.y[i] = std::max(a.y[i], 0.0F);
  }
}

struct graph_stream {
  graph_stream() { check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream"); }
  ~graph_stream() { cudaStreamDestroy(stream); }
  template <class Record>
  void replay(Record record) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t made = nullptr;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    record();
    check(cudaStreamEndCapture(stream, &graph), "capture");
    check(cudaGraphInstantiate(&made, graph, 0), "a graph");
    check(cudaGraphLaunch(made, stream), "a graph");
    check(cudaStreamSynchronize(stream), "a graph");
    cudaGraphExecDestroy(made), cudaGraphDestroy(graph);
  }
  cudaStream_t stream = nullptr;
};

struct tally {
  int taken = 0, left = 0, refused = 0;
};

bool has_cudnn() {
  if (!conv::available) MESSAGE("not run: this build has no cuDNN");
  return conv::available;
}

/// cuDNN may refuse what is not `common`.
void check_case(conv& convolutions, conv_case& c, bool common, tally& t) {
  CAPTURE(to_string(c.args));
  CAPTURE(c.args.tf32);
  std::vector<float> expected(c.y.size());
  conv_args plain = c.args;
  plain.y = expected.data();
  conv_reference(plain);
  graph_stream s;
  bool takes = false;
  try {
    takes = convolutions.prepare(c.args, s.stream);
  } catch (const conv_error& e) {
    ++t.refused;
    if (common) FAIL_CHECK(e.what());
    return;
  }
  ++(takes ? t.taken : t.left);
  if (!takes) CHECK_THROWS_AS(convolutions.run(c.args, s.stream), conv_error);
  const conv_args done = takes ? c.args : c.args.without_epilogue();
  convolutions.run(done, s.stream);
  check(cudaStreamSynchronize(s.stream), "a convolution");
  if (!takes) finish(c.args);
  const std::vector<float> first = c.y.values();
  // sums of tens of numbers below 1 in magnitude; a wrong one is off by their size
  const double terms = std::sqrt(static_cast<double>(w_size(c.args) / c.args.features));
  CHECK(distance(c.y, expected) < terms * (c.args.tf32 ? 2e-3 : 1e-4));
  s.replay([&] { convolutions.run(done, s.stream); });
  if (!takes) finish(c.args);
  CHECK(distance(c.y, first) == 0);
  CHECK(c.y.intact());
}

}  // namespace

TEST_CASE("convolutions of any kind, by cuDNN, also as a graph") {
  if (!has_cudnn()) return;
  conv convolutions;
  std::mt19937 random(1);
  tally t;
  for (int round = 0; round < 200; ++round) {
    conv_case c = random_case(random);
    c.args.tf32 = round % 2 == 0;
    check_case(convolutions, c, !c.args.channels_last, t);
  }
  MESSAGE("whole: ", t.taken, ", without bias, residual and relu: ", t.left, ", refused: ", t.refused);
}

TEST_CASE("convolutions as large as networks have them, by cuDNN") {
  if (!has_cudnn()) return;
  conv convolutions;
  std::mt19937 random(2);
  tally t;
  for (const bool tf32 : {false, true})
    for (const bool last : {false, true})
      for (const uint32_t kernel : {1, 3})
        for (const uint32_t groups : {1, 64}) {
          conv_args a;
          a.batch = 2, a.channels = a.features = 64, a.groups = groups, a.relu = true, a.tf32 = tf32;
          a.channels_last = last;
          for (const int d : {0, 1}) {
            a.in[d] = a.out[d] = 14, a.kernel[d] = kernel, a.stride[d] = a.dilation[d] = 1;
            a.pad[d] = kernel / 2;
          }
          for (const bool residual : {false, true}) {
            conv_case c(a, true, residual, random);
            check_case(convolutions, c, groups == 1 || !last, t);
          }
        }
  MESSAGE("whole: ", t.taken, ", without bias, residual and relu: ", t.left, ", refused: ", t.refused);
}

TEST_CASE("a convolution that was not prepared is refused while a graph is captured") {
  if (!has_cudnn()) return;
  conv convolutions;
  std::mt19937 random(3);
  conv_case c = random_case(random);
  c.args = c.args.without_epilogue();
  graph_stream s;
  s.replay([&] { CHECK_THROWS_AS(convolutions.run(c.args, s.stream), conv_error); });
}

#endif
