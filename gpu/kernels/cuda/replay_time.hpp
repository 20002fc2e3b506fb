// Measures work on a stream when a graph replays it, to choose between algorithms.
#pragma once
#include <cuda_runtime_api.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <type_traits>

#include "gpu/kernels/cuda/check.hpp"
#include "gpu/kernels/cuda/stream_event.hpp"

namespace troupe::cuda {

constexpr double never = std::numeric_limits<double>::infinity();

/// Microseconds of the work that `enqueue` puts on the stream, which must not be captured. `never` if
/// `enqueue` returns false, or the work cannot be captured or is clearly slower than `best`. Waits for the
/// stream. Throws cuda_error or device_lost.
template <class Enqueue>
double replay_time(cudaStream_t stream, double best, Enqueue enqueue) {
  const stream_event begin, end;
  const auto timed = [&](auto work) {
    begin.record(stream);
    const bool done = work();
    end.record(stream);
    const auto took = end.since(begin);  // waits
    return done ? static_cast<double>(took.count()) / 1e3 : never;
  };
  cudaGetLastError();
  // the first run loads its code
  for (int i = 0; i < 2; ++i) {
    const double once = timed(enqueue);
    if (i == 1 && once > 1000 && once > 2 * best) return never;
    if (once < never) continue;
    const cudaError_t why = cudaGetLastError();
    if (is_sticky(why)) check(why, "a trial");
    return never;
  }

  constexpr int copies = 5;
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t replay = nullptr;
  bool good = true;
  check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture of a graph");
  for (int i = 0; i < copies && good; ++i) good = enqueue();
  good = cudaStreamEndCapture(stream, &graph) == cudaSuccess && good;
  good = good && cudaGraphInstantiate(&replay, graph, 0) == cudaSuccess;
  if (graph != nullptr) cudaGraphDestroy(graph);
  if (!good) {
    cudaGetLastError();
    return never;
  }
  const std::unique_ptr<std::remove_pointer_t<cudaGraphExec_t>, decltype(&cudaGraphExecDestroy)> owned(
      replay, &cudaGraphExecDestroy);
  double min_us = never;
  for (int i = 0; i < 4; ++i) {
    const double us = timed([&] { return cudaGraphLaunch(replay, stream) == cudaSuccess; }) / copies;
    if (i > 0) min_us = std::min(min_us, us);
  }
  return min_us;
}

}  // namespace troupe::cuda
