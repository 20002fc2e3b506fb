// Gathers slices of a tensor [outer, bound, slice] by indices: out [outer, picks, slice].
#pragma once
#include "gpu/kernels/cuda/element_kernel.hpp"
#include "gpu/kernels/cuda/kernel_fault.hpp"
#include "gpu/kernels/cuda/tensor_walk.hpp"

namespace troupe::cuda {

/// `count` is in words.
struct gathering : element_kernel {
  const void* from = nullptr;
  const void* indices = nullptr;  ///< [picks], -bound .. bound - 1
  bool wide = true;               ///< indices are int64, else int32
  uint32_t picks = 0, bound = 0;
  uint32_t slice = 0;  ///< words
  void* to = nullptr;
  kernel_fault* fault = nullptr;  ///< set if an index is out of range
};

/// Word: 1, 2, 4, 8 or 16 bytes. Both sides are aligned to it.
template <uint32_t Word>
struct gather_kernel : gathering {
  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    using word = memory_word<Word>;
    const uint32_t i = begin(t);
    if (i >= count) return;
    const uint32_t row = i / slice, pick = row % picks, outer = row / picks;
    int64_t index =
        wide ? static_cast<const int64_t*>(indices)[pick] : static_cast<const int32_t*>(indices)[pick];
    if (index < -int64_t{bound} || index >= bound) {
      fault->value = index, fault->found = 1;
      index = 0;  // a valid index
    }
    if (index < 0) index += bound;
    const size_t at = (size_t{outer} * bound + static_cast<size_t>(index)) * slice + i % slice;
    static_cast<word*>(to)[i] = static_cast<const word*>(from)[at];
  }
};

}  // namespace troupe::cuda
