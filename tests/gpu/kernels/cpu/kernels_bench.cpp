// Measures the kernels on this machine: microseconds, GB/s, GFLOP/s and the fraction of the bandwidth at
// which the same threads read a large array.
//
//     kernels_bench [THREADS...]
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "gpu/kernels/dense.hpp"
#include "gpu/kernels/paged_attention.hpp"
#include "gpu/kernels/read_bandwidth.hpp"
#include "gpu/kernels/sgmv.hpp"

using namespace troupe;
using namespace troupe::kernels;

namespace {

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The median of nine runs after a warm-up run.
double median_seconds(const std::function<void()>& f) {
  f();
  std::vector<double> times(9);
  for (double& t : times) t = seconds_of(f);
  std::nth_element(times.begin(), times.begin() + 4, times.end());
  return times[4];
}

std::vector<float> random_floats(size_t n, uint32_t seed) {
  std::minstd_rand random(seed + 1);
  std::vector<float> v(n);
  for (float& x : v) x = static_cast<float>(random() % 2000) / 1000 - 1;
  return v;
}

double bandwidth = 0;

void print(const std::string& what, double seconds, double bytes, double flop) {
  std::printf("%-44s %9.1f us %7.2f GB/s %8.1f GFLOP/s %5.0f %% of read bandwidth\n", what.c_str(),
              seconds * 1e6, bytes / seconds / 1e9, flop / seconds / 1e9, 100 * bytes / seconds / bandwidth);
}

void bench_dense(size_t out, size_t in, element type, size_t rows) {
  // more matrices than caches hold, one after the other
  const size_t copies = std::max<size_t>(1, (size_t{384} << 20) / (out * in * element_bytes(type)));
  const auto raw = random_floats(out * in, 1);
  static std::vector<packed_weights> w;
  w.clear();
  for (size_t i = 0; i < copies; ++i) w.emplace_back(raw.data(), element::f32, type, out, in);
  const auto x = random_floats(rows * in, 2);
  std::vector<float> y(rows * out);
  const double s = median_seconds([&] {
                     for (const packed_weights& m : w)
                       dense({x.data(), in, &m, nullptr, y.data(), out, rows});
                   }) /
                   static_cast<double>(copies);
  print("dense " + std::to_string(in) + " -> " + std::to_string(out) +
            (type == element::bf16 ? " bf16" : " f32") + ", rows " + std::to_string(rows),
        s, static_cast<double>(out * in * element_bytes(type)), 2.0 * static_cast<double>(rows * out * in));
}

/// 32 rows, each with its own adapter, 2048 -> 2048; 24 layers, more than caches hold.
void bench_lora(uint32_t rank, element type) {
  constexpr size_t rows = 32, width = 2048, layers = 24;
  std::vector<std::vector<std::byte>> matrices(rows * layers * 2);
  for (auto& m : matrices) m.resize(rank * width * element_bytes(type));
  std::vector<lora_weights> weights;
  for (size_t i = 0; i < rows * layers; ++i)
    weights.push_back({matrices[2 * i].data(), matrices[2 * i + 1].data(), rank, 1});
  std::vector<const lora_weights*> adapters;
  for (const auto& w : weights) adapters.push_back(&w);
  std::vector<uint32_t> ends;
  for (uint32_t r = 0; r <= rows; ++r) ends.push_back(r);
  const auto x = random_floats(rows * width, 3);
  std::vector<float> y(rows * width), v(rows * rank);
  const double s = median_seconds([&] {
                     for (size_t layer = 0; layer < layers; ++layer)
                       lora({{ends.data(), &adapters[layer * rows], rows, type},
                             x.data(),
                             width,
                             width,
                             v.data(),
                             rank,
                             y.data(),
                             width,
                             width});
                   }) /
                   layers;
  const double numbers = 2.0 * rows * rank * width;
  print(std::string("lora 32 distinct rows, rank ") + std::to_string(rank) +
            (type == element::bf16 ? " bf16" : " f32"),
        s, numbers * static_cast<double>(element_bytes(type)), 2 * numbers);
}

/// Rows with 512 cached tokens, 32 heads in groups of 4, head dimension 64; `prompt`: the rows are the last
/// of one prompt.
void bench_attention(uint32_t rows, bool prompt, element type) {
  constexpr uint32_t heads = 32, kv_heads = 8, dim = 64, tokens = 512, page = 16, layers = 4;
  const uint32_t sequences = prompt ? 1 : rows;
  paged_kv kv{nullptr, type, layers, kv_heads, page, dim};
  std::vector<uint32_t> blocks(sequences * tokens / page), block_start, sequence, position;
  for (uint32_t i = 0; i < blocks.size(); ++i) blocks[i] = i;
  std::shuffle(blocks.begin(), blocks.end(), std::minstd_rand(4));
  std::vector<std::byte> pages(blocks.size() * kv.page_bytes());
  kv.pages = pages.data();
  for (uint32_t i = 0; i <= sequences; ++i) block_start.push_back(i * tokens / page);
  for (uint32_t i = 0; i < rows; ++i) {
    sequence.push_back(prompt ? 0 : i);
    position.push_back(prompt ? tokens - rows + i : tokens - 1);
  }
  const auto q = random_floats(size_t{rows} * heads * dim, 5);
  std::vector<float> out(q.size());
  const double s = median_seconds([&] {
                     for (uint32_t layer = 0; layer < layers; ++layer)
                       paged_attention({q.data(),
                                        heads * dim,
                                        out.data(),
                                        heads * dim,
                                        rows,
                                        heads,
                                        sequence.data(),
                                        position.data(),
                                        {block_start.data(), blocks.data()},
                                        kv,
                                        layer,
                                        0,
                                        0.125F});
                   }) /
                   layers;
  double seen = 0;
  for (const uint32_t p : position) seen += p + 1;
  print("attention " + std::to_string(rows) + (prompt ? " rows of a prompt" : " rows, kv 512") +
            (type == element::bf16 ? " bf16" : " f32"),
        s, 2.0 * sequences * tokens * kv_heads * dim * static_cast<double>(element_bytes(type)),
        4 * seen * heads * dim);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> threads;
  for (int i = 1; i < argc; ++i) threads.push_back(std::atoi(argv[i]));
  if (threads.empty()) threads = {1, 2};
  const machine_clock time;
  const read_bandwidth memory;
  for (const int n : threads) {
    omp_set_num_threads(n);
    bandwidth = 0;
    for (int i = 0; i < 9; ++i) bandwidth = std::max(bandwidth, memory.measure(time, size_t{1} << 29));
    std::printf("threads %d: reading %.2f GB/s\n", n, bandwidth / 1e9);
    for (const element type : {element::f32, element::bf16}) {
      bench_attention(32, false, type);
      bench_attention(256, true, type);
      bench_lora(16, type);
      for (const size_t out : {2048, 5632})
        for (const size_t rows : {1, 8, 32}) bench_dense(out, 2048, type, rows);
    }
  }
}
