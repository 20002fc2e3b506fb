// Errors of CUDA as exceptions. After a sticky one (an illegal address, an ECC error, a lost device) every
// call of the process fails: who meets it takes the worker down.
#pragma once
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

namespace troupe::cuda {

class cuda_error : public std::runtime_error {
 public:
  cuda_error(cudaError_t code, const std::string& what)
      : std::runtime_error(what + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")"),
        code_(code) {}

  cudaError_t code() const { return code_; }
  bool out_of_memory() const { return code_ == cudaErrorMemoryAllocation; }
  /// Whether the device can go on: the call was refused and nothing else was lost.
  bool harmless() const {
    return out_of_memory() || code_ == cudaErrorInvalidValue || code_ == cudaErrorInvalidConfiguration ||
           code_ == cudaErrorNotSupported || code_ == cudaErrorInvalidDevice;
  }

 private:
  cudaError_t code_;
};

/// Throws if `code` is not success; `what` is what was attempted.
inline void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  if (cudaPeekAtLastError() == code) cudaGetLastError();  // the next call's error is its own
  throw cuda_error(code, what);
}

}  // namespace troupe::cuda
