// What a kernel found that makes its result worthless: an index out of range, a division by zero.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

/// Zero before the run; any of the threads that found something says what.
struct kernel_fault {
  uint32_t found = 0;
  int64_t value = 0;
};

}  // namespace troupe::cuda
