// Benchmark of memory-bound kernels of tensor models. Launches cycle through data sets, so that none is in
// L2.
#include "gpu/kernels/cuda/bench/bench.hpp"
#include "gpu/kernels/cuda/copy_kernel.hpp"
#include "gpu/kernels/cuda/launch.cuh"
#include "gpu/kernels/cuda/pointwise_kernel.hpp"
#include "gpu/kernels/cuda/pool_kernel.hpp"
#include "gpu/kernels/cuda/row_kernels.hpp"

namespace troupe::cuda {

namespace {

/// `make(x, y)` returns the kernel that reads `in` floats from x and writes `out` floats to y.
template <class Make>
void measure(bench& b, const std::string& op, const std::string& shape, size_t in, size_t out, const Make& make) {
  if (!b.wanted(op)) return;
  const double bytes = 4.0 * static_cast<double>(in + out);
  const uint32_t sets = bench::cold_sets(bytes);
  const device_memory x(sets * in * sizeof(float)), y(sets * out * sizeof(float));
  b.fill(x.data(), sets * in * 2, element::bf16, 1);
  const double us = b.time(sets, [&](cudaStream_t stream, uint32_t i) {
    const auto k = make(x.as<float>() + i * in, y.as<float>() + i * out);
    launch(k, k.grid(), stream);
  });
  b.add({op, shape, us, bytes, 0});
}

/// GELU as exporters write it: five instructions.
void bench_gelu(bench& b, uint32_t rows, uint32_t columns) {
  const device_memory numbers = on_device(std::vector<float>{1.41421356F, 1, 0.5F});
  const uint32_t n = rows * columns;
  measure(b, "pointwise", "GELU, " + std::to_string(rows) + " x " + std::to_string(columns), n, n,
          [&](const float* x, float* y) {
            pointwise_kernel<float, 4> k;
            k.walk.extent[0] = k.count = n, k.operands = 4;
            k.in[0].data = x, k.in[0].steps = {{1}}, k.in[0].wide = true;
            for (uint32_t i = 0; i < 3; ++i) k.in[1 + i].data = numbers.as<float>() + i;
            using op = pointwise_op;
            for (const pointwise_instruction i :
                 {pointwise_instruction{op::divide, 1}, {op::erf}, {op::add, 2}, {op::multiply, 0}, {op::multiply, 3}})
              k.instruction[k.instructions++] = i;
            k.out = y;
            return k;
          });
}

/// y = relu(x + bias), a bias for each channel, channels last.
void bench_bias(bench& b, uint32_t positions, uint32_t channels) {
  const device_memory bias = on_device(std::vector<float>(channels, 0.5F));
  const uint32_t n = positions * channels;
  measure(b, "pointwise", "bias, relu, " + std::to_string(positions) + " x " + std::to_string(channels), n, n,
          [&](const float* x, float* y) {
            pointwise_kernel<float, 4> k;
            k.walk.dims = 2, k.walk.extent[0] = positions, k.walk.extent[1] = channels;
            k.count = n, k.operands = 2;
            k.in[0].data = x, k.in[0].steps = {{channels, 1}}, k.in[0].wide = true;
            k.in[1].data = bias.as<float>(), k.in[1].steps = {{0, 1}}, k.in[1].wide = true;
            k.instruction[k.instructions++] = {pointwise_op::add, 1};
            k.instruction[k.instructions++] = {pointwise_op::relu};
            k.out = y;
            return k;
          });
}

/// Transposes the last two dimensions of [batch, rows, columns].
void bench_turn(bench& b, uint32_t batch, uint32_t rows, uint32_t columns) {
  const uint32_t n = batch * rows * columns;
  measure(b, "copy", "turned, " + std::to_string(batch) + " x " + std::to_string(rows) + " x " + std::to_string(columns),
          n, n, [&](const float* x, float* y) {
            copy_kernel<4> k;
            k.walk.dims = 3, k.walk.extent[0] = batch, k.walk.extent[1] = columns, k.walk.extent[2] = rows;
            k.count = n;
            k.from_steps = {{int64_t{rows} * columns, 1, columns}};
            k.to_steps = {{int64_t{rows} * columns, rows, 1}};
            k.from = x, k.to = y;
            return k;
          });
}

template <template <uint32_t> class Kernel>
void bench_rows(bench& b, const char* op, uint32_t rows, uint32_t n, const device_memory& scale, bool one) {
  measure(b, op, std::to_string(rows) + " x " + std::to_string(n), size_t{rows} * n, one ? rows : size_t{rows} * n,
          [&](const float* x, float* y) {
            Kernel<32> k;
            k.x = x, k.y = y, k.outer = rows, k.n = n;
            if constexpr (requires { k.scale; }) k.scale = k.shift = scale.as<float>();
            return k;
          });
}

void bench_pool(bench& b, uint32_t batch, uint32_t side, uint32_t channels, bool last) {
  const uint32_t out = side / 2;
  measure(b, "pool", std::string("max 3 x 3, ") + std::to_string(batch) + " x " + std::to_string(side) + " x " +
                         std::to_string(side) + " x " + std::to_string(channels) + (last ? ", last" : ", first"),
          size_t{batch} * side * side * channels, size_t{batch} * out * out * channels, [&](const float* x, float* y) {
            pool_kernel k;
            k.x = x, k.y = y, k.batch = batch, k.channels = channels, k.channels_last = last;
            for (const uint32_t d : {1U, 2U})
              k.in[d] = side, k.out[d] = out, k.kernel[d] = 3, k.stride[d] = 2, k.before[d] = 1;
            return k;
          });
}

}  // namespace

void bench_tensors(bench& b) {
  for (const uint32_t rows : {8, 1024}) bench_gelu(b, rows, 3072);
  for (const uint32_t batch : {1, 32}) bench_bias(b, batch * 56 * 56, 64);
  for (const uint32_t batch : {1, 64}) bench_turn(b, batch, 128, 768);
  const device_memory scale = on_device(std::vector<float>(1024, 1));
  for (const uint32_t rows : {128, 8192}) {
    bench_rows<softmax_kernel>(b, "softmax", rows, 128, scale, false);
    bench_rows<layer_norm_kernel>(b, "layer norm", rows, 768, scale, false);
    bench_rows<mean_kernel>(b, "mean", rows, 49, scale, true);
  }
  for (const bool last : {false, true}) bench_pool(b, 32, 112, 64, last);
}

}  // namespace troupe::cuda
