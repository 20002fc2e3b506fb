// Out of memory on a GPU while another thread captures a graph.
#include "gpu/kernels/cuda/device_memory.hpp"

#include <doctest/doctest.h>

#include <limits>
#include <thread>

using namespace troupe::cuda;

namespace {

size_t free_bytes() {
  size_t free = 0, all = 0;
  check(cudaMemGetInfo(&free, &all), "the device's memory");
  return free;
}

}  // namespace

TEST_CASE("device memory: memory freed by a stream is available to all") {
  int device = 0;
  cudaMemPool_t pool = nullptr;
  uint64_t kept = std::numeric_limits<uint64_t>::max();
  check(cudaGetDevice(&device), "the device");
  check(cudaDeviceGetDefaultMemPool(&pool, device), "the device's memory");
  check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept), "the device's memory");
  const memory_stream stream;
  const size_t max = free_bytes() / 5 * 3;
  { const stream_memory given_back(max, stream); }
  CHECK_NOTHROW(device_memory(max));
}

TEST_CASE("device memory: a failed allocation does not end the capture of another thread") {
  const owned_stream captured;
  const device_memory numbers(1024);
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(captured, cudaStreamCaptureModeThreadLocal), "capture of a graph");
  std::thread([] { CHECK_THROWS_AS(device_memory(size_t{1} << 50), cuda_error); }).join();
  CHECK(cudaMemsetAsync(numbers.data(), 0, numbers.size(), captured) == cudaSuccess);
  CHECK(cudaStreamEndCapture(captured, &graph) == cudaSuccess);
  cudaGraphDestroy(graph);
}
