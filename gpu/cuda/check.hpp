// Errors of CUDA as exceptions. After a sticky one (an illegal address, an ECC error, a hung kernel) every
// call of the process fails: that is device_lost.
#pragma once
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "gpu/device_lost.hpp"

namespace troupe::cuda {

class cuda_error : public std::runtime_error {
 public:
  cuda_error(cudaError_t code, const std::string& what)
      : std::runtime_error(what + ": " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) + ")"),
        code_(code) {}

  cudaError_t code() const { return code_; }
  bool out_of_memory() const { return code_ == cudaErrorMemoryAllocation; }

 private:
  cudaError_t code_;
};

/// Whether it leaves the process without the device (the CUDA runtime's manual: "the process must be
/// terminated and relaunched").
inline bool is_sticky(cudaError_t code) {
  switch (code) {
    case cudaErrorECCUncorrectable:
    case cudaErrorContained:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorTensorMemoryLeak:
    case cudaErrorExternalDevice:
    case cudaErrorMpsClientTerminated:
    case cudaErrorContextIsDestroyed: return true;
    default: return false;
  }
}

/// Throws cuda_error, or device_lost, if `code` is not success; `what` is what was attempted.
inline void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  if (cudaPeekAtLastError() == code) cudaGetLastError();  // the next call's error is its own
  const cuda_error error(code, what);
  if (is_sticky(code)) throw device_lost(error.what());
  throw error;
}

}  // namespace troupe::cuda
