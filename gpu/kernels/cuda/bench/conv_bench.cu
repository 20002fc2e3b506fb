// Benchmark of ResNet-50's convolutions, with bias and ReLU, and of f32 products, in full precision and in
// TF32. Weights are cold; inputs are where the layer before left them.
#include <cstdio>

#include "gpu/kernels/cuda/bench/bench.hpp"
#include "gpu/kernels/cuda/conv.hpp"
#include "gpu/kernels/cuda/gemm.hpp"

namespace troupe::cuda {

namespace {

struct layer {
  uint32_t side, channels, features, kernel, stride;
};
constexpr layer layers[] = {
    {224, 3, 64, 7, 2}, {56, 64, 64, 3, 1}, {28, 128, 128, 3, 1}, {14, 256, 1024, 1, 1}, {7, 512, 512, 3, 1}};

device_memory random_floats(bench& b, size_t count) {
  device_memory numbers(count * sizeof(float));
  // of two adjacent bf16, the second one is a float's sign, exponent and first bits
  b.fill(numbers.data(), count * 2, element::bf16, 0.1F);
  return numbers;
}

/// Microseconds. Cycles through `sets` sets of weights.
double gemm_us(bench& b, gemm& products, gemm_args a, uint32_t sets) {
  const device_memory x = random_floats(b, size_t{a.rows} * a.in), bias = random_floats(b, a.out);
  const device_memory w = random_floats(b, size_t{a.out} * a.in * sets);
  const device_memory y(size_t{a.rows} * a.out * sizeof(float));
  a.type = element::f32, a.x = x.data(), a.y = y.data(), a.y_stride = a.out;
  if (a.relu) a.bias = bias.data();
  return b.time(bench::launches, [&](cudaStream_t stream, uint32_t i) {
    a.w = w.as<float>() + size_t{a.out} * a.in * (i % sets);
    products.run(a, stream);
  });
}

double flops_of(const gemm_args& a) { return 2.0 * a.rows * a.in * a.out; }

/// Measures products. Returns cuBLAS's rate for large ones, in flops per second.
double bench_gemms(bench& b, gemm& products, bool tf32) {
  const std::string type = tf32 ? "tf32" : "f32";
  gemm_args a;
  a.tf32 = tf32, a.rows = a.in = a.out = 8192;
  const double us = gemm_us(b, products, a, 1), peak_flops = flops_of(a) / us * 1e6;
  b.add({"limit: cuBLAS " + type, "8192 x 8192 x 8192", us, 0, flops_of(a), peak_flops});
  for (const uint32_t rows : {1, 8, 64, 512, 4096}) {
    a.rows = rows, a.in = 768, a.out = 3072, a.relu = true;
    b.add({"gemm " + type, std::to_string(rows) + " x 768 -> 3072, bias, relu",
           gemm_us(b, products, a, bench::launches), 4.0 * (1.0 * rows * (a.in + a.out) + 1.0 * a.in * a.out),
           flops_of(a), peak_flops});
  }
  return peak_flops;
}

void bench_layer(bench& b, conv& convolutions, const layer& l, uint32_t batch, bool tf32, bool last,
                 double peak_flops) {
  conv_args a;
  a.batch = batch, a.channels = l.channels, a.features = l.features, a.relu = true;
  a.tf32 = tf32, a.channels_last = last;
  for (const int d : {0, 1}) {
    a.in[d] = l.side, a.kernel[d] = l.kernel, a.stride[d] = l.stride, a.dilation[d] = 1,
    a.pad[d] = l.kernel / 2;
    a.out[d] = (l.side + 2 * a.pad[d] - l.kernel) / l.stride + 1;
  }
  const size_t x_count = size_t{batch} * l.channels * a.in[0] * a.in[1];
  const size_t y_count = size_t{batch} * l.features * a.out[0] * a.out[1];
  const size_t w_count = size_t{l.features} * l.channels * l.kernel * l.kernel;
  // large inputs evict the weights from L2
  const double moved = 4.0 * static_cast<double>(x_count + y_count);
  const uint32_t sets = moved > 2e8 ? bench::launches : bench::cold_sets(4.0 * static_cast<double>(w_count));
  const size_t step = (w_count + 3) / 4 * 4;  // aligned to 16 bytes
  const device_memory x = random_floats(b, x_count), w = random_floats(b, step * sets);
  const device_memory bias = random_floats(b, l.features), y(y_count * sizeof(float));
  a.x = x.as<float>(), a.w = w.as<float>(), a.bias = bias.as<float>(), a.y = y.as<float>();
  const std::string text = std::to_string(batch) + " x " + std::to_string(l.side) + " x " +
                           std::to_string(l.side) + " x " + std::to_string(l.channels) + ", " +
                           std::to_string(l.kernel) + " x " + std::to_string(l.kernel) + " -> " +
                           std::to_string(l.features) + (last ? ", last" : ", first");
  try {
    const bool takes = convolutions.prepare(a, b.stream());
    if (!takes) a = a.without_epilogue();
    const double us = b.time(sets, [&](cudaStream_t stream, uint32_t i) {
      a.w = w.as<float>() + step * i;
      convolutions.run(a, stream);
    });
    b.add({std::string("conv ") + (tf32 ? "tf32" : "f32") + (takes ? "" : ", bare"), text, us,
           moved + 4.0 * static_cast<double>(w_count),
           2.0 * static_cast<double>(y_count * w_count) / l.features, peak_flops});
  } catch (const conv_error& e) {
    std::fprintf(stderr, "left out: %s\n", e.what());
  }
}

}  // namespace

void bench_conv(bench& b) {
  for (const bool tf32 : {false, true}) {
    const std::string type = tf32 ? "tf32" : "f32";
    if (!b.wanted("conv " + type) && !b.wanted("gemm " + type)) continue;
    double peak_flops = 0;
    {
      gemm products;
      peak_flops = bench_gemms(b, products, tf32);
    }
    if (!conv::available || !b.wanted("conv " + type)) continue;
    conv convolutions;
    for (const bool last : {false, true})
      for (const layer& l : layers)
        for (const uint32_t batch : {1, 8, 64})
          bench_layer(b, convolutions, l, batch, tf32, last, peak_flops);
  }
}

}  // namespace troupe::cuda
