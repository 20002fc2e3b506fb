// TF32, what tensor cores multiply of a float: 8 bits of exponent and 10 of the fraction.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

namespace troupe::cuda {

/// The nearest one (halfway: away from zero), as cvt.rna.tf32.f32 has it. Kernels that pass floats as they
/// are cut them instead: their error is at most twice as large.
inline float to_tf32(float x) {
  if (!std::isfinite(x)) return x;
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  bits = (bits + 0x1000) & ~uint32_t{0x1fff};
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}

}  // namespace troupe::cuda
