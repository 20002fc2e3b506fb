// Pads a tensor with one value, or cuts it off.
#pragma once
#include "gpu/kernels/cuda/element_kernel.hpp"
#include "gpu/kernels/cuda/tensor_walk.hpp"

namespace troupe::cuda {

struct padding : element_kernel {
  tensor_walk walk;  ///< of the output, in the order of its memory
  int64_t before[max_tensor_dims] = {};
  uint32_t extent[max_tensor_dims] = {};  ///< of the input
  tensor_steps steps;                     ///< of the input
  uint64_t filler = 0;                    ///< an element, in the lowest bytes
  const void* from = nullptr;
  void* to = nullptr;
};

/// Word: bytes of an element, 1, 2, 4 or 8.
template <uint32_t Word>
struct pad_kernel : padding {
  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    using word = memory_word<Word>;
    const uint32_t i = begin(t);
    if (i >= count) return;
    int64_t at = 0;
    uint32_t index = i;
    bool inside = true;
    for (uint32_t d = walk.dims; d-- > 0;) {
      const uint32_t outer = index / walk.extent[d];
      const int64_t here = int64_t{index - outer * walk.extent[d]} - before[d];
      inside = inside && here >= 0 && here < extent[d];
      at += here * steps.step[d];
      index = outer;
    }
    word w;
    memcpy(&w, &filler, Word);
    static_cast<word*>(to)[i] = inside ? static_cast<const word*>(from)[at] : w;
  }
};

}  // namespace troupe::cuda
