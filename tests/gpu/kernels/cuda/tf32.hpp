// TF32, the tensor cores' input format for floats: 8 bits of exponent and 10 of the fraction.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace troupe::cuda {

/// The nearest number (ties away from zero), like cvt.rna.tf32.f32. Kernels that pass unconverted floats
/// truncate instead: their error is at most twice as large.
inline float to_tf32(float x) {
  if (!std::isfinite(x)) return x;
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x1000) & ~uint32_t{0x1fff};
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}

}  // namespace troupe::cuda
