// Products: the emulated machine's loops against oneDNN; on a GPU, cuBLASLt against the loops.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

#include "gpu/kernels/cuda/gemm_args.hpp"
#include "tests/gpu/common/wrong_elements.hpp"
#include "tests/gpu/kernels/cuda/gemm_reference.hpp"
#include "tests/gpu/kernels/cuda/machine.hpp"
#ifdef __CUDACC__
#include "gpu/kernels/cuda/gemm.hpp"
#else
#include <oneapi/dnnl/dnnl.hpp>

#include "tests/gpu/kernels/cuda/emulated_machine.hpp"
#endif

using namespace troupe;
using namespace troupe::cuda;

namespace {

/// Products with their numbers at any address that their type allows.
struct gemm_case {
  gemm_case(const gemm_args& shape, bool has_bias, uint32_t shift, std::mt19937& random)
      : args(shape),
        bytes(element_bytes(shape.type)),
        x(bytes_of(shape.x_step, size_t{shape.rows} * shape.in, shift)),
        w(bytes_of(shape.w_step, size_t{shape.out} * shape.in, shift)),
        bias(bytes_of(0, shape.out, shift)),
        y(bytes_of(shape.y_step, shape.rows * shape.y_stride, shift) * 2) {
    for (auto* a : {&x, &w, &bias})
      for (size_t i = 0; i < a->size() / bytes; ++i)
        set_element(a->data(), args.type, i, static_cast<float>(random() % 20001) / 10000 - 1);
    args.x = x.data() + shift * bytes, args.w = w.data() + shift * bytes;
    y_bytes = args.float_y ? 4 : bytes;
    args.y = y.data() + shift * y_bytes;
    if (has_bias) args.bias = bias.data() + shift * bytes;
    seed = static_cast<uint32_t>(random());
    fill_y();
  }
  size_t bytes_of(int64_t step, size_t one, size_t shift) const {
    return (static_cast<size_t>(step) * (args.batch - 1) + one + shift) * bytes;
  }
  /// Offsets of y's numbers.
  std::vector<size_t> written() const {
    std::vector<size_t> all;
    for (size_t b = 0; b < args.batch; ++b)
      for (size_t r = 0; r < args.rows; ++r)
        for (size_t n = 0; n < args.out; ++n)
          all.push_back(b * static_cast<size_t>(args.y_step) + r * args.y_stride + n);
    return all;
  }
  /// Resets y to the addend, or to NaN.
  void fill_y() {
    std::mt19937 random(seed);
    for (const size_t i : written())
      set_element(args.y, y_type(), i,
                  args.adds ? static_cast<float>(random() % 20001) / 10000 - 1 : std::nanf(""));
  }
  element y_type() const { return args.float_y ? element::f32 : args.type; }
  float result(size_t i) const { return element_at(args.y, y_type(), i); }
  /// Whether only the result was written.
  bool tidy() const {
    std::vector<bool> may(y.size());
    const auto begin = static_cast<size_t>(static_cast<const std::byte*>(args.y) - y.data());
    for (const size_t i : written())
      for (size_t b = 0; b < y_bytes; ++b) may[begin + i * y_bytes + b] = true;
    for (size_t i = 0; i < may.size(); ++i)
      if (!may[i] && y[i] != std::byte{0xff}) return false;
    return y.intact();
  }

  gemm_args args;
  size_t bytes, y_bytes = 0;
  uint32_t seed = 0;  // of y
  shared_array<std::byte> x, w, bias, y;
};

gemm_case random_case(std::mt19937& random) {
  const auto draw = [&](uint32_t min, uint32_t max) {
    return min + static_cast<uint32_t>(random() % (max - min + 1));
  };
  const auto coin = [&] { return draw(0, 1) == 0; };
  gemm_args a;
  a.type = coin() ? element::f32 : coin() ? element::f16 : element::bf16;
  const bool f32 = a.type == element::f32;
  const uint32_t unit = f32 ? 1 : 8;  // 16-bit numbers are loaded in pieces of 16 bytes
  a.rows = draw(1, 40), a.in = unit * draw(1, 40 / unit), a.out = unit * draw(1, 40 / unit);
  a.x_turned = coin(), a.w_turned = coin();
  if (!f32 && a.x_turned) a.rows = (a.rows + 7) / 8 * 8;
  a.y_stride = a.out + (coin() ? 0 : unit * draw(1, 5));
  a.batch = coin() ? 1 : draw(2, 4);
  if (a.batch > 1) {
    if (coin()) a.x_step = int64_t{a.rows} * a.in + unit * draw(0, 3);
    if (coin()) a.w_step = int64_t{a.out} * a.in + unit * draw(0, 3);
    a.y_step = static_cast<int64_t>(a.rows * a.y_stride) + unit * draw(0, 3);
  }
  a.scale = coin() ? 1 : 0.25F * static_cast<float>(draw(1, 8));
  a.relu = coin(), a.adds = coin();
  const bool bias = coin();
  a.float_y = f32 ? coin() : !bias && coin();
  return {a, bias, f32 ? draw(0, 3) : 0, random};
}

}  // namespace

#ifndef __CUDACC__

namespace {

/// The product of float numbers by oneDNN.
std::vector<float> by_onednn(const gemm_case& c) {
  const gemm_args& a = c.args;
  using dnnl::memory;
  dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(cpu);
  const auto floats = [&](const void* numbers, int64_t step, int64_t one) {
    std::vector<float> all(static_cast<size_t>(step * (a.batch - 1) + one));
    for (size_t i = 0; i < all.size(); ++i) all[i] = element_at(numbers, a.type, i);
    return all;
  };
  const int64_t rows = a.rows, in = a.in, out = a.out, batch = a.batch;
  std::vector<float> x = floats(a.x, a.x_step, rows * in), w = floats(a.w, a.w_step, out * in);
  std::vector<float> y(static_cast<size_t>(batch * rows * out));
  for (int64_t b = 0; b < batch; ++b) {
    const memory::dims x_steps = a.x_turned ? memory::dims{1, rows} : memory::dims{in, 1};
    const memory::dims w_steps = a.w_turned ? memory::dims{out, 1} : memory::dims{1, in};
    memory mx({{rows, in}, memory::data_type::f32, x_steps}, cpu, x.data() + b * a.x_step);
    memory mw({{in, out}, memory::data_type::f32, w_steps}, cpu, w.data() + b * a.w_step);
    memory my({{rows, out}, memory::data_type::f32, memory::dims{out, 1}}, cpu, y.data() + b * rows * out);
    const dnnl::matmul::primitive_desc pd({mx.get_desc(), mw.get_desc(), my.get_desc()}, cpu);
    dnnl::matmul(pd).execute(stream, {{DNNL_ARG_SRC, mx}, {DNNL_ARG_WEIGHTS, mw}, {DNNL_ARG_DST, my}});
    stream.wait();
  }
  const std::vector<size_t> where = c.written();
  for (size_t i = 0; i < y.size(); ++i) {
    y[i] = y[i] * a.scale + (a.bias == nullptr ? 0 : element_at(a.bias, a.type, i % a.out));
    if (a.adds) y[i] += c.result(where[i]);
    if (a.relu) y[i] = std::max(y[i], 0.0F);
  }
  return y;
}

}  // namespace

TEST_CASE("products of the emulated machine equal those of oneDNN") {
  std::mt19937 random(1);
  for (int round = 0; round < 200; ++round) {
    CAPTURE(round);
    gemm_case c = random_case(random);
    const std::vector<float> expected = by_onednn(c);
    const std::vector<size_t> where = c.written();
    emulated_machine machine;
    machine.multiply(c.args);
    machine.finish();
    const element to = c.args.float_y ? element::f32 : c.args.type;
    const double roundoff = to == element::f32 ? 1e-5 : to == element::f16 ? 0x1p-11 : 0x1p-8;
    wrong_elements wrong;
    for (size_t i = 0; i < expected.size(); ++i)
      wrong.check(std::abs(double{c.result(where[i])} - expected[i]) <=
                      std::abs(expected[i]) * roundoff * 1.01 + 1e-5,
                  i, expected[i], c.result(where[i]));
    CHECK(wrong == 0);
    CHECK(c.tidy());
  }
}

TEST_CASE("products in TF32 round f32 operands, and no others") {
  std::mt19937 random(2);
  for (int round = 0; round < 20; ++round) {
    gemm_case c = random_case(random);
    c.args.tf32 = true;
    gemm_reference(c.args);
    std::vector<float> rounded;
    for (const size_t i : c.written()) rounded.push_back(c.result(i));
    c.args.tf32 = false;
    if (c.args.type == element::f32)
      for (auto* a : {&c.x, &c.w})
        for (size_t i = 0; i < a->size() / 4; ++i)
          set_element(a->data(), element::f32, i, to_tf32(element_at(a->data(), element::f32, i)));
    c.fill_y();
    gemm_reference(c.args);
    std::vector<float> exact;
    for (const size_t i : c.written()) exact.push_back(c.result(i));
    CHECK(differences(rounded, exact) == 0);
  }
}

#else

TEST_CASE("random products by cuBLASLt equal the reference") {
  gemm products;
  std::mt19937 random(1);
  for (int round = 0; round < 300; ++round) {
    CAPTURE(round);
    gemm_case c = random_case(random);
    const gemm_args& a = c.args;
    c.args.tf32 = round % 2 == 0;
    CAPTURE(static_cast<int>(a.type));
    CAPTURE(a.rows);
    CAPTURE(a.in);
    CAPTURE(a.out);
    CAPTURE(a.batch);
    CAPTURE(a.relu);
    CAPTURE(a.adds);
    CAPTURE(a.tf32);
    CAPTURE(a.bias != nullptr);
    const std::vector<size_t> where = c.written();
    gemm_reference(a);
    std::vector<float> expected;
    for (const size_t i : where) expected.push_back(c.result(i));
    c.fill_y();
    products.run(a, nullptr);
    check(cudaDeviceSynchronize(), "a product");
    const element to = a.float_y ? element::f32 : a.type;
    const double roundoff = to == element::f32 ? 1e-5 : to == element::f16 ? 0x1p-10 : 0x1p-7;
    const double sums =
        std::sqrt(static_cast<double>(a.in)) * a.scale *
        (a.type == element::f32 && a.tf32 ? 2e-3 : 1e-5);  // kernels may truncate to TF32 instead of rounding
    wrong_elements wrong;
    for (size_t i = 0; i < expected.size(); ++i)
      wrong.check(std::abs(double{c.result(where[i])} - expected[i]) <=
                      std::abs(expected[i]) * roundoff * 1.01 + sums + 1e-5,
                  i, expected[i], c.result(where[i]));
    CHECK(wrong == 0);
    CHECK(c.tidy());
  }
}

#endif
