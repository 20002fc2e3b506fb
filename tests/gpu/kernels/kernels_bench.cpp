// Prints what the kernels reach on this machine: microseconds, GB/s, GFLOP/s and the share of the bandwidth
// at which the same threads read a large array.
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

using namespace troupe;
using namespace troupe::kernels;

namespace {

double seconds_of(const std::function<void()>& f) {
  const auto start = std::chrono::steady_clock::now();
  f();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The median of nine after one for warming up.
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

double read_bandwidth() {
  static std::vector<float> large(size_t{1} << 27);  // 512 MB, more than any cache
  volatile float sink = 0;
  const double s = median_seconds([&] {
    float sum = 0;
#pragma omp parallel for simd simdlen(16) reduction(+ : sum) schedule(static)
    for (size_t i = 0; i < large.size(); ++i) sum += large[i];
    sink = sum;
  });
  (void)sink;
  return static_cast<double>(large.size()) * 4 / s;
}

double bandwidth = 0;

void print(const std::string& what, double seconds, double bytes, double flop) {
  std::printf("%-44s %9.1f us %7.2f GB/s %8.1f GFLOP/s %5.0f %% of read bandwidth\n", what.c_str(),
              seconds * 1e6, bytes / seconds / 1e9, flop / seconds / 1e9, 100 * bytes / seconds / bandwidth);
}

void bench_dense(size_t out, size_t in, element type, size_t rows) {
  // as many matrices as no cache holds, one after the other
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

}  // namespace

int main(int argc, char** argv) {
  std::vector<int> threads;
  for (int i = 1; i < argc; ++i) threads.push_back(std::atoi(argv[i]));
  if (threads.empty()) threads = {1, 2};
  for (const int n : threads) {
    omp_set_num_threads(n);
    bandwidth = read_bandwidth();
    std::printf("threads %d: reading %.2f GB/s\n", n, bandwidth / 1e9);
    for (const element type : {element::f32, element::bf16})
      for (const size_t out : {2048, 5632})
        for (const size_t rows : {1, 8, 32}) bench_dense(out, 2048, type, rows);
  }
}
