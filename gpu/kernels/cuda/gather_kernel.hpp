// Gathers slices of a tensor [outer, bound, slice] by indices: out [outer, picks, slice].
#pragma once
#include "gpu/kernels/cuda/kernel_fault.hpp"
#include "gpu/kernels/cuda/tensor_walk.hpp"

namespace troupe::cuda {

struct gathering {
  const void* from = nullptr;
  const void* indices = nullptr;  ///< [picks], -bound .. bound - 1
  bool wide = true;               ///< indices are int64, else int32
  uint32_t picks = 0, bound = 0;
  uint32_t slice = 0;  ///< words
  uint32_t count = 0;  ///< words of the output
  void* to = nullptr;
  kernel_fault* fault = nullptr;  ///< set if an index is out of range
};

/// Word: 1, 2, 4, 8 or 16 bytes. Both sides are aligned to it.
template <uint32_t Word>
struct gather_kernel : gathering {
  static constexpr uint32_t threads = 256, cluster = 1;
  static constexpr bool never_syncs = true;

  grid_size grid() const { return {ceil_div(count, threads), 1, 1}; }
  size_t shared_bytes() const { return 0; }

  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    using word = memory_word<Word>;
    t.launch_dependents();
    t.grid_dependency_sync();
    const uint32_t i = t.block() * threads + t.index();
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
