// CUDA errors as exceptions. After a sticky error (an illegal address, an ECC error, a hung kernel) every
// call of the process fails: this is device_lost.
#pragma once
#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>

#include "gpu/common/device_lost.hpp"

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

/// True if the process cannot use the device after this error (the CUDA runtime's manual: "the process must
/// be terminated and relaunched"). Excludes errors of a process that never had the device
/// (cudaErrorNoDevice); if they appear later, check_wait treats them as device_lost.
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
    case cudaErrorMpsRpcFailure:
    case cudaErrorContextIsDestroyed:
    case cudaErrorUnknown: return true;  // for example, a GPU that fell off the bus
    default: return false;
  }
}

/// Throws cuda_error or device_lost if `code` is not success. `what`: the attempted action, for messages.
inline void check(cudaError_t code, const char* what) {
  if (code == cudaSuccess) return;
  if (cudaPeekAtLastError() == code) cudaGetLastError();  // clears it for the next call
  const cuda_error error(code, what);
  if (is_sticky(code)) throw device_lost(error.what());
  throw error;
}

/// The same for calls that wait for the device or query its progress, outside of a graph capture. Their
/// errors come from earlier work, so every error is device_lost, except lack of memory.
inline void check_wait(cudaError_t code, const char* what) {
  const bool of_capture =
      code >= cudaErrorStreamCaptureUnsupported && code <= cudaErrorStreamCaptureWrongThread;
  if (code == cudaErrorNotReady || code == cudaErrorMemoryAllocation || of_capture) return check(code, what);
  if (code != cudaSuccess) throw device_lost(cuda_error(code, what).what());
}

/// Call after a library's call failed. cuDNN and cuBLASLt have CUDA runtimes of their own, whose errors this
/// runtime sees only when it waits.
inline void throw_if_lost(cudaStream_t stream, const char* what) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  cudaError_t behind = cudaStreamIsCapturing(stream, &capture);
  if (behind == cudaSuccess && capture == cudaStreamCaptureStatusNone) behind = cudaStreamSynchronize(stream);
  if (is_sticky(behind)) check(behind, what);
}

}  // namespace troupe::cuda
