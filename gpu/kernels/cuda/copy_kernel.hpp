// Copies a box of elements from one tensor into another: transposed, sliced, repeated, reversed or inserted.
#pragma once
#include "gpu/kernels/cuda/element_kernel.hpp"
#include "gpu/kernels/cuda/tensor_walk.hpp"

namespace troupe::cuda {

/// The arguments that do not depend on the word size. count, steps and firsts are in words.
struct box_copy : element_kernel {
  tensor_walk walk;  ///< in the order of the target's memory
  tensor_steps from_steps, to_steps;
  int64_t from_first = 0, to_first = 0;
  const void* from = nullptr;
  void* to = nullptr;
};

/// Word: 1, 2, 4, 8 or 16 bytes. Both sides are aligned to it.
template <uint32_t Word>
struct copy_kernel : box_copy {
  template <class Thread>
  TROUPE_DEVICE void operator()(Thread t) const {
    using word = memory_word<Word>;
    const uint32_t i = begin(t);
    if (i >= count) return;
    int64_t at[2] = {from_first, to_first};
    find_element<2>(walk, i, {&from_steps, &to_steps}, at);
    static_cast<word*>(to)[at[1]] = static_cast<const word*>(from)[at[0]];
  }
};

}  // namespace troupe::cuda
