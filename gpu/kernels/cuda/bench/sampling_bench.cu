// Benchmark of sampling, with logits in L2, as the head has just written them.
#include "gpu/kernels/cuda/bench/bench.hpp"
#include "gpu/kernels/cuda/launch.cuh"
#include "gpu/kernels/cuda/sampling_rows.hpp"

namespace troupe::cuda {

namespace {

void choose(bench& b, const char* how, const kernels::sampling_parameters& parameters, uint32_t rows,
            uint32_t vocabulary) {
  std::vector<float> logits(size_t{rows} * vocabulary);
  uint32_t state = 1;
  for (float& x : logits) {
    state = state * 1664525 + 1013904223;
    x = static_cast<float>(state >> 8) * 0x1p-20F;  // 0 .. 16
  }
  sampling_rows sampled;
  for (uint32_t r = 0; r < rows; ++r) {
    kernels::sampling_args row;
    row.parameters = parameters, row.parameters.seed = r;
    sampled.add(row);
  }
  const device_memory there = on_device(logits), samplings = on_device(sampled.rows()),
                      count = on_device(std::vector{rows});
  const device_memory out(rows * sizeof(sampled_row));
  const double us = b.time(bench::launches, [&](cudaStream_t stream, uint32_t) {
    sampling_kernel<8> k;
    k.rows = count.as<uint32_t>(), k.logits = there.as<float>(), k.vocabulary = k.stride = vocabulary;
    k.samplings = samplings.as<row_sampling>(), k.out = out.as<sampled_row>();
    launch(k, k.grid(rows), stream);
  });
  b.add({"sampling", std::to_string(rows) + " x " + std::to_string(vocabulary) + ", " + how, us,
         4.0 * rows * vocabulary, 0});
}

}  // namespace

void bench_sampling(bench& b) {
  if (!b.wanted("sampling")) return;
  for (const uint32_t vocabulary : {32000, 128256})
    for (const uint32_t rows : {1, 32}) {
      kernels::sampling_parameters greedy, drawn, cut;
      greedy.temperature = 0;
      cut.top_k = 50, cut.top_p = 0.9F;
      choose(b, "greedy", greedy, rows, vocabulary);
      choose(b, "temperature", drawn, rows, vocabulary);
      choose(b, "top_k and top_p", cut, rows, vocabulary);
    }
}

}  // namespace troupe::cuda
