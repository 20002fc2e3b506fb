// The common part of kernels with a thread for each element of their output.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

/// A base of the kernel's arguments.
struct element_kernel {
  static constexpr uint32_t threads = 256, cluster = 1;
  static constexpr bool never_syncs = true;

  uint32_t count = 0;  ///< elements of the output, in the kernel's unit

  grid_size grid() const { return {ceil_div(count, threads), 1, 1}; }
  size_t shared_bytes() const { return 0; }

 protected:
  /// Index of the thread's element, beyond `count` for the last threads. Waits for the previous kernel.
  template <class Thread>
  TROUPE_DEVICE static uint32_t begin(Thread t) {
    t.launch_dependents();
    t.grid_dependency_sync();
    return t.block() * threads + t.index();
  }
};

}  // namespace troupe::cuda
