#include <cublas_v2.h>

#include <algorithm>
#include <cstdio>
#include <stdexcept>

#include "gpu/kernels/cuda/bench/bench.hpp"
#include "gpu/kernels/cuda/launch.cuh"

namespace troupe::cuda {

namespace {

/// Reads `bytes` without using them.
struct read_kernel {
  static constexpr uint32_t threads = 256, cluster = 1, min_blocks = 8, in_flight = 4;
  size_t shared_bytes() const { return 0; }
  const void* from;
  size_t bytes;
  uint32_t* never;

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    const size_t pieces = bytes / sizeof(vec16), all = size_t{t.blocks()} * threads;
    uint32_t seen = 0;
    for (size_t i = size_t{t.block()} * threads + t.index(); i < pieces; i += all * in_flight) {
      vec16 v[in_flight];
      TROUPE_UNROLL for (uint32_t j = 0; j < in_flight; ++j) v[j] =
          i + j * all < pieces ? t.load_read_only(static_cast<const vec16*>(from) + i + j * all) : vec16{};
      TROUPE_UNROLL for (uint32_t j = 0; j < in_flight; ++j) seen ^=
          v[j].word[0] ^ v[j].word[1] ^ v[j].word[2] ^ v[j].word[3];
    }
    if (seen == 0x9e3779b9) *never = seen;  // so that the reads are not optimised away
  }
};

struct noop_kernel {
  static constexpr uint32_t threads = 32, cluster = 1;
  size_t shared_bytes() const { return 0; }
  template <class Thread>
  TROUPE_DEVICE void operator()(Thread) const {}
};

/// Fills words with two random short numbers each (splitmix64 of the position).
struct fill_kernel {
  static constexpr uint32_t threads = 256, cluster = 1;
  size_t shared_bytes() const { return 0; }
  uint32_t* to;
  size_t words;
  element type;
  float scale;

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    for (size_t i = size_t{t.block()} * threads + t.index(); i < words; i += size_t{t.blocks()} * threads) {
      uint64_t z = (i + 1) * 0x9e3779b97f4a7c15ULL;
      z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ULL;
      z = (z ^ z >> 27) * 0x94d049bb133111ebULL;
      const float low = static_cast<float>(static_cast<int32_t>(z)) * 0x1p-31F * scale,
                  high = static_cast<float>(static_cast<int32_t>(z >> 32)) * 0x1p-31F * scale;
      to[i] = type == element::bf16 ? t.template pack<element::bf16>(low, high)
                                    : t.template pack<element::f16>(low, high);
    }
  }
};

int multiprocessors() {
  int count = 0;
  check(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0), "the device's facts");
  return count;
}

void check_cublas(cublasStatus_t status) {
  if (status != CUBLAS_STATUS_SUCCESS) throw std::runtime_error(cublasGetStatusString(status));
}

double gemm_us(bench& b, uint32_t n) {
  const size_t count = size_t{n} * n;
  device_memory x(count * 2), y(count * 2), z(count * 2), workspace(64 << 20);
  b.fill(x.data(), count, element::bf16, 1);
  b.fill(y.data(), count, element::bf16, 1);
  cublasHandle_t handle = nullptr;
  check_cublas(cublasCreate(&handle));
  check_cublas(cublasSetStream(handle, b.stream()));
  check_cublas(cublasSetWorkspace(handle, workspace.data(), workspace.size()));  // fixed, for graphs
  const float one = 1, zero = 0;
  const int side = static_cast<int>(n);
  const double us = b.time(bench::launches, [&](cudaStream_t, uint32_t) {
    check_cublas(cublasGemmEx(handle, CUBLAS_OP_T, CUBLAS_OP_N, side, side, side, &one, x.data(), CUDA_R_16BF,
                              side, y.data(), CUDA_R_16BF, side, &zero, z.data(), CUDA_R_16BF, side,
                              CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT));
  });
  check_cublas(cublasDestroy(handle));
  return us;
}

}  // namespace

bench::bench(std::string filter) : filter_(std::move(filter)) {
  check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream");
}

bench::~bench() { cudaStreamDestroy(stream_); }

uint32_t bench::cold_sets(double bytes) {
  const double sets = static_cast<double>(cold_bytes) / bytes;
  return std::max(1U, static_cast<uint32_t>(sets / launches + 1)) * launches;
}

double bench::time(uint32_t sets, const std::function<void(cudaStream_t, uint32_t)>& launch_one) {
  std::vector<cudaGraphExec_t> graphs(sets / launches);
  launch_one(stream_, 0);  // the set-up of a first launch cannot be captured
  check(cudaStreamSynchronize(stream_), "a first launch");
  for (uint32_t g = 0; g < graphs.size(); ++g) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(stream_, cudaStreamCaptureModeThreadLocal), "capture");
    for (uint32_t i = 0; i < launches; ++i) launch_one(stream_, g * launches + i);
    check(cudaStreamEndCapture(stream_, &graph), "capture");
    check(cudaGraphInstantiate(&graphs[g], graph, 0), "a graph");
    check(cudaGraphDestroy(graph), "a graph");
  }
  // enqueued at once: a replay that waits for the host would include the launch latency
  const size_t warm_up = std::max<size_t>(5, graphs.size()), replays = std::max<size_t>(50, graphs.size());
  std::vector<cudaEvent_t> between(replays + 1);
  for (cudaEvent_t& event : between) check(cudaEventCreate(&event), "an event");
  for (size_t i = 0; i < warm_up + replays; ++i) {
    if (i >= warm_up) check(cudaEventRecord(between[i - warm_up], stream_), "an event");
    check(cudaGraphLaunch(graphs[i % graphs.size()], stream_), "a graph");
  }
  check(cudaEventRecord(between.back(), stream_), "an event");
  check(cudaStreamSynchronize(stream_), "replays");
  std::vector<double> times;
  for (size_t i = 0; i < replays; ++i) {
    float ms = 0;
    check(cudaEventElapsedTime(&ms, between[i], between[i + 1]), "an event");
    times.push_back(ms * 1e3 / launches);
  }
  for (cudaGraphExec_t graph : graphs) check(cudaGraphExecDestroy(graph), "a graph");
  for (cudaEvent_t event : between) check(cudaEventDestroy(event), "an event");
  std::ranges::nth_element(times, times.begin() + static_cast<ptrdiff_t>(times.size() / 2));
  return times[times.size() / 2];
}

void bench::fill(void* numbers, size_t count, element type, float scale) {
  launch(fill_kernel{static_cast<uint32_t*>(numbers), (count + 1) / 2, type, scale}, {1024, 1, 1}, stream_);
}

device_limits measure_limits(bench& b) {
  device_limits limits;
  const size_t pool_bytes = size_t{2} << 30;
  device_memory pool(pool_bytes);
  b.fill(pool.data(), pool_bytes / 2, element::bf16, 1);
  const uint32_t blocks = static_cast<uint32_t>(multiprocessors()) * read_kernel::min_blocks;
  const auto read = [&](size_t bytes) {
    const auto sets = static_cast<uint32_t>(
        std::min<size_t>(pool_bytes / bytes, bench::cold_sets(static_cast<double>(bytes))));
    return b.time(bench::launches * std::max(1U, sets / bench::launches), [&](cudaStream_t stream,
                                                                              uint32_t i) {
      const auto used = static_cast<uint32_t>(ceil_div(bytes / sizeof(vec16), size_t{read_kernel::threads}));
      launch(read_kernel{pool.data() + i * bytes % (pool_bytes - bytes + 16) / 16 * 16, bytes,
                         pool.as<uint32_t>()},
             {std::min(blocks, used), 1, 1}, stream);
    });
  };
  const double whole = read(pool_bytes);
  limits.read_bytes_per_second = static_cast<double>(pool_bytes) / whole * 1e6;
  b.add({"limit: read", "2 GiB", whole, static_cast<double>(pool_bytes), 0});
  for (const size_t kib : {128, 256, 1024, 4096, 8192, 16384, 32768, 65536})
    b.add({"limit: cold read", std::to_string(kib) + " KiB", read(kib << 10), static_cast<double>(kib << 10),
           0});
  const double empty = b.time(bench::launches, [](cudaStream_t stream, uint32_t) {
    launch(noop_kernel{}, {1, 1, 1}, stream);
  });
  b.add({"limit: empty kernel", "1 warp", empty, 0, 0});
  const double side = 8192, flops = 2 * side * side * side;
  const double product = gemm_us(b, static_cast<uint32_t>(side));
  limits.flops_per_second = flops / product * 1e6;
  b.add({"limit: cuBLAS bf16", "8192 x 8192 x 8192", product, 0, flops});
  return limits;
}

}  // namespace troupe::cuda
