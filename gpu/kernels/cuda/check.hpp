// Errors of CUDA as exceptions. After a sticky one (an illegal address, an ECC error, a hung kernel) every
// call of the process fails: that is device_lost.
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

/// Whether it leaves the process without the device (the CUDA runtime's manual: "the process must be
/// terminated and relaunched"). Those that a process gets that never had the device are not among them
/// (cudaErrorNoDevice): check_wait takes them for what they are later.
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
    case cudaErrorUnknown: return true;  // of a GPU that fell off the bus
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

/// The same for what waits for the device, or asks it how far it is, where no graph is captured: that fails
/// for what the device did before, so whatever it is the device is lost, unless there was no memory for it.
inline void check_wait(cudaError_t code, const char* what) {
  const bool of_capture =
      code >= cudaErrorStreamCaptureUnsupported && code <= cudaErrorStreamCaptureWrongThread;
  if (code == cudaErrorNotReady || code == cudaErrorMemoryAllocation || of_capture) return check(code, what);
  if (code != cudaSuccess) throw device_lost(cuda_error(code, what).what());
}

/// For a library's call that failed. cuDNN and cuBLASLt have CUDA runtimes of their own, whose errors this
/// one sees only when it waits.
inline void throw_if_lost(cudaStream_t stream, const char* what) {
  cudaStreamCaptureStatus capture = cudaStreamCaptureStatusNone;
  cudaError_t behind = cudaStreamIsCapturing(stream, &capture);
  if (behind == cudaSuccess && capture == cudaStreamCaptureStatusNone) behind = cudaStreamSynchronize(stream);
  if (is_sticky(behind)) check(behind, what);
}

}  // namespace troupe::cuda
