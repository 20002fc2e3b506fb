// A RAII CUDA stream.
#pragma once
#include "gpu/kernels/cuda/check.hpp"

namespace troupe::cuda {

/// A non-blocking stream of the current device. Throws cuda_error.
class owned_stream {
 public:
  owned_stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"); }
  ~owned_stream() { cudaStreamDestroy(stream_); }
  owned_stream(const owned_stream&) = delete;
  owned_stream& operator=(const owned_stream&) = delete;

  operator cudaStream_t() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

}  // namespace troupe::cuda
