// An error that a kernel reports and that invalidates its result: an index out of range, a division by zero.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

/// Zero before the run. If several threads find an error, any of them is reported.
struct kernel_fault {
  uint32_t found = 0;
  int64_t value = 0;
};

}  // namespace troupe::cuda
