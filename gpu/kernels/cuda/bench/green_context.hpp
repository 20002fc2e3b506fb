// A share of a GPU's multiprocessors: a green context of the CUDA driver, with a stream of its own.
//
// The driver's functions are found at run time, so that no program needs libcuda to start. A share has a
// multiple of the GPU's smallest partition (8 multiprocessors on Hopper). It shares L2 and memory bandwidth.
#pragma once
#include <cuda.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/kernels/cuda/check.hpp"

namespace troupe::cuda {

/// A function of the driver. Throws std::runtime_error if the driver is too old for it.
template <class Function>
Function driver_function(const char* name) {
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result{};
  check(cudaGetDriverEntryPointByVersion(name, &found, 12050, cudaEnableDefault, &result), name);
  if (result != cudaDriverEntryPointSuccess || found == nullptr)
    throw std::runtime_error(std::string("the driver has no ") + name);
  return reinterpret_cast<Function>(found);
}

inline void check_driver(CUresult code, const char* what) {
  if (code != CUDA_SUCCESS)
    throw std::runtime_error(std::string(what) + ": error " + std::to_string(static_cast<int>(code)) +
                             " of the CUDA driver");
}

/// The current device's multiprocessors in groups of the smallest partition.
inline std::vector<CUdevResource> multiprocessor_groups() {
  int device = 0;
  check(cudaGetDevice(&device), "the device");
  check(cudaFree(nullptr), "the context");  // makes the primary context
  CUdevResource all{}, rest{};
  check_driver(driver_function<decltype(&cuDeviceGetDevResource)>("cuDeviceGetDevResource")(
                   device, &all, CU_DEV_RESOURCE_TYPE_SM),
               "the multiprocessors");
  const auto split = driver_function<decltype(&cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount");
  unsigned count = 0;
  check_driver(split(nullptr, &count, &all, nullptr, 0, 1), "the number of groups");
  std::vector<CUdevResource> groups(count);
  check_driver(split(groups.data(), &count, &all, &rest, 0, 1), "groups of multiprocessors");
  groups.resize(count);
  return groups;
}

class green_context {
 public:
  explicit green_context(std::vector<CUdevResource> groups) {
    int device = 0;
    check(cudaGetDevice(&device), "the device");
    for (const CUdevResource& g : groups) multiprocessors_ += g.sm.smCount;
    CUdevResourceDesc description{};
    check_driver(driver_function<decltype(&cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc")(
                     &description, groups.data(), static_cast<unsigned>(groups.size())),
                 "a share");
    check_driver(driver_function<decltype(&cuGreenCtxCreate)>("cuGreenCtxCreate")(
                     &context_, description, device, CU_GREEN_CTX_DEFAULT_STREAM),
                 "a green context");
    CUstream made = nullptr;
    check_driver(driver_function<decltype(&cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate")(
                     &made, context_, CU_STREAM_NON_BLOCKING, 0),
                 "a stream of a green context");
    stream_ = made;
  }
  ~green_context() {
    cudaStreamDestroy(stream_);
    driver_function<decltype(&cuGreenCtxDestroy)>("cuGreenCtxDestroy")(context_);
  }
  green_context(const green_context&) = delete;
  green_context& operator=(const green_context&) = delete;

  cudaStream_t stream() const { return stream_; }
  uint32_t multiprocessors() const { return multiprocessors_; }

 private:
  CUgreenCtx context_ = nullptr;
  cudaStream_t stream_ = nullptr;
  uint32_t multiprocessors_ = 0;
};

}  // namespace troupe::cuda
