// RAII CUDA event: a point in a stream, to wait for and to time.
#pragma once
#include <chrono>

#include "gpu/kernels/cuda/check.hpp"

namespace troupe::cuda {

class stream_event {
 public:
  /// cudaEventDisableTiming is cheaper; `since` then throws.
  explicit stream_event(unsigned flags = cudaEventDefault) {
    check(cudaEventCreateWithFlags(&event_, flags), "an event");
  }
  ~stream_event() { cudaEventDestroy(event_); }
  stream_event(const stream_event&) = delete;
  stream_event& operator=(const stream_event&) = delete;

  operator cudaEvent_t() const { return event_; }
  void record(cudaStream_t stream) const { check(cudaEventRecord(event_, stream), "an event"); }
  /// Time between the events. Waits for this one. Requires: both were recorded.
  std::chrono::nanoseconds since(const stream_event& earlier) const {
    float ms = 0;
    check_wait(cudaEventSynchronize(event_), "an event");
    check(cudaEventElapsedTime(&ms, earlier.event_, event_), "an event");
    return std::chrono::nanoseconds(static_cast<int64_t>(static_cast<double>(ms) * 1e6));
  }

 private:
  cudaEvent_t event_ = nullptr;
};

}  // namespace troupe::cuda
