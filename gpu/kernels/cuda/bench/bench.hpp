// Fixture of the kernel benchmarks. A figure is the time per launch: the median over replays of a CUDA graph
// of some launches. Memory that is cold in a server is cold here: launches cycle through data far larger than
// L2.
#pragma once
#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "gpu/common/element.hpp"
#include "gpu/kernels/cuda/bench/bench_targets.hpp"
#include "gpu/kernels/cuda/device_memory.hpp"

namespace troupe::cuda {

class bench {
 public:
  static constexpr uint32_t launches = 20;               ///< per graph
  static constexpr size_t cold_bytes = size_t{1} << 28;  ///< other bytes that evict a set from L2 (60 MB)

  /// Measures only rows whose op contains `filter`.
  explicit bench(std::string filter);
  ~bench();
  bench(const bench&) = delete;
  bench& operator=(const bench&) = delete;

  bool wanted(const std::string& op) const { return op.find(filter_) != std::string::npos; }
  /// Number of data sets of `bytes` each so that each is cold at its turn; a multiple of `launches`.
  static uint32_t cold_sets(double bytes);
  /// Microseconds per launch. `launch(stream, i)` launches with data set i.
  double time(uint32_t sets, const std::function<void(cudaStream_t, uint32_t)>& launch);
  void add(bench_row row) { rows.push_back(std::move(row)); }
  /// Fills memory with random numbers of -1 .. 1 times `scale`, two bytes each.
  void fill(void* numbers, size_t count, element type, float scale);
  cudaStream_t stream() const { return stream_; }

  std::vector<bench_row> rows;

 private:
  std::string filter_;
  cudaStream_t stream_ = nullptr;
};

/// Waits for writes in the legacy stream, as the streams of benchmarks do not wait for it.
inline void finish_writes() { check(cudaStreamSynchronize(cudaStreamLegacy), "the inputs of a benchmark"); }

inline device_memory zeros_on_device(size_t bytes) {
  device_memory memory(bytes);
  check(cudaMemset(memory.data(), 0, bytes), "memory");
  finish_writes();
  return memory;
}

template <class T>
device_memory on_device(const std::vector<T>& values) {
  device_memory memory(std::max<size_t>(1, values.size()) * sizeof(T));
  check(cudaMemcpy(memory.data(), values.data(), values.size() * sizeof(T), cudaMemcpyHostToDevice),
        "a table");
  finish_writes();
  return memory;
}

device_limits measure_limits(bench& b);
void bench_lora(bench& b);
void bench_attention(bench& b);
void bench_sampling(bench& b);
void bench_step(bench& b);
void bench_conv(bench& b);
void bench_tensors(bench& b);

}  // namespace troupe::cuda
