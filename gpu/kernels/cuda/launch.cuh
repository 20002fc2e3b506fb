// Launches kernels of device_code.hpp's form on a GPU.
#pragma once
#include <cuda_runtime.h>

#include <algorithm>
#include <map>
#include <mutex>

#include "gpu/kernels/cuda/check.hpp"
#include "gpu/kernels/cuda/cuda_thread.cuh"

namespace troupe::cuda {

/// Minimum of resident blocks for __launch_bounds__: `min_blocks` of the kernel, else 1.
template <class Kernel>
constexpr uint32_t min_blocks_per_multiprocessor() {
  if constexpr (requires { Kernel::min_blocks; }) return Kernel::min_blocks;
  return 1;
}

template <class Kernel>
__global__ __launch_bounds__(Kernel::threads, min_blocks_per_multiprocessor<Kernel>()) void run(
    const __grid_constant__ Kernel kernel) {
  kernel(cuda_thread{});
}

struct empty_kernel {
  static constexpr uint32_t threads = 32, cluster = 1;
  TROUPE_DEVICE void operator()(cuda_thread) const {}
};

/// True if the current device runs the code for sm_90, with clusters and programmatic dependent launch. Other
/// devices run the code for sm_80: clusters of one block, no early launches. Throws cuda_error.
inline bool runs_sm90_code() {
  cudaFuncAttributes found{};
  check(cudaFuncGetAttributes(&found, run<empty_kernel>), "the code of kernels");
  return found.ptxVersion >= 90;
}

/// Raises a kernel's limit of shared memory, which is 48 KiB by default. For early launches it also sets the
/// carve-out to the maximum, as a multiprocessor must be empty before it can change the carve-out between
/// kernels. Both settings hold for the whole process, so the limit only grows. A kernel is a distinct one in
/// each file that launches it (nvcc from 13.0 on). Throws cuda_error.
inline void raise_shared_memory_limit(const void* kernel, size_t bytes, bool early) {
  struct shared_memory_limits {
    size_t bytes = 48 << 10;
    bool early = false;
  };
  static std::mutex changes;
  static std::map<std::pair<int, const void*>, shared_memory_limits> limits_of_kernels;  // by device
  int device = 0;
  check(cudaGetDevice(&device), "the device");
  const std::lock_guard lock(changes);
  shared_memory_limits& limits = limits_of_kernels[{device, kernel}];
  const auto set_attribute = [&](cudaFuncAttribute what, int value) {
    check(cudaFuncSetAttribute(kernel, what, value), "shared memory of a kernel");
  };
  if (bytes > limits.bytes)
    set_attribute(cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
  limits.bytes = std::max(limits.bytes, bytes);
  if (early && !limits.early)
    set_attribute(cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared);
  limits.early = limits.early || early;
}

/// Launches a kernel. `early`: with programmatic dependent launch. It may then start before its predecessor
/// has ended, and each thread must call grid_dependency_sync before it reads the predecessor's results or
/// writes. Throws cuda_error.
template <class Kernel>
void launch(const Kernel& kernel, grid_size grid, cudaStream_t stream, bool early = false) {
  const size_t shared = kernel.shared_bytes();
  if (shared > 48 << 10 || early)
    raise_shared_memory_limit(reinterpret_cast<const void*>(&run<Kernel>), shared, early);
  cudaLaunchAttribute attributes[2] = {};
  unsigned count = 0;
  if constexpr (Kernel::cluster > 1) {
    attributes[count].id = cudaLaunchAttributeClusterDimension;
    attributes[count++].val.clusterDim = {Kernel::cluster, 1, 1};
  }
  if (early) {
    attributes[count].id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attributes[count++].val.programmaticStreamSerializationAllowed = 1;
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = {grid.x, grid.y, grid.z};
  config.blockDim = {Kernel::threads, 1, 1};
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = attributes;
  config.numAttrs = count;
  check(cudaLaunchKernelEx(&config, run<Kernel>, kernel), "launch of a kernel");
}

}  // namespace troupe::cuda
