// Conversion of numbers between the types in which they are stored.
#pragma once
#include <cstddef>

#include "gpu/common/element.hpp"

namespace troupe::kernels {

struct conversion_args {
  const void* from = nullptr;  ///< [count], at any address of its type
  element from_type = element::f32;
  void* to = nullptr;  ///< [count], written, apart from `from`
  element to_type = element::f32;
  size_t count = 0;
};

/// Rounds to nearest, ties to even. NaNs stay NaNs, not always with the same bits.
void conversion_reference(const conversion_args& args);
void conversion(const conversion_args& args);

}  // namespace troupe::kernels
