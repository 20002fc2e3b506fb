// Index arithmetic of kernels for tensors of up to eight dimensions.
#pragma once
#include "gpu/kernels/cuda/device_code.hpp"

namespace troupe::cuda {

constexpr uint32_t max_tensor_dims = 8;

/// The unit of a thread's access: 1, 2, 4, 8 or 16 bytes.
template <uint32_t Bytes>
struct alignas(Bytes) memory_word {
  unsigned char bytes[Bytes];
};

/// The dimensions of an iteration over several tensors, the last one fastest.
struct tensor_walk {
  uint32_t dims = 1;
  uint32_t extent[max_tensor_dims] = {1};
};

/// Strides of one tensor in the dimensions of a walk.
struct tensor_steps {
  int64_t step[max_tensor_dims] = {};
};

/// Adds to `at` the position of the walk's `index`-th element in each of `N` tensors.
template <uint32_t N>
TROUPE_DEVICE void find_element(const tensor_walk& walk, uint32_t index,
                                const tensor_steps* const (&steps)[N], int64_t (&at)[N]) {
  for (uint32_t d = walk.dims; d-- > 0;) {
    const uint32_t outer = d > 0 ? index / walk.extent[d] : 0, here = index - outer * walk.extent[d];
    TROUPE_UNROLL for (uint32_t i = 0; i < N; ++i) at[i] += here * steps[i]->step[d];
    index = outer;
  }
}

}  // namespace troupe::cuda
