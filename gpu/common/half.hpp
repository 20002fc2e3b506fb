// 16-bit floating point numbers, for storage and conversion only. Constexpr, so that kernels can convert
// them, too.
#pragma once
#include <bit>
#include <cstdint>

namespace troupe {

/// IEEE 754 FP16. From a float: to nearest, ties to even, infinity beyond 65504. To a float: exact.
struct half {
  uint16_t bits = 0;

  half() = default;
  constexpr explicit half(float x) {
    const auto given = std::bit_cast<uint32_t>(x);
    uint32_t size = given & 0x7fffffff;
    if (size > 0x7f800000) {  // NaN
      size = 0x7e00;
    } else if (size >= 0x477ff000) {  // rounds to 2^16 or more
      size = 0x7c00;
    } else if (size < 0x38800000) {  // below 2^-14: subnormals, whose unit is that of a float around 1/2
      size = std::bit_cast<uint32_t>(std::bit_cast<float>(size) + 0.5F) - std::bit_cast<uint32_t>(0.5F);
    } else {
      size = (size - (112U << 23) + 0xfff + (size >> 13 & 1)) >> 13;
    }
    bits = static_cast<uint16_t>((given >> 16 & 0x8000) | size);
  }
  constexpr explicit operator float() const {
    const uint32_t sign = (bits & 0x8000U) << 16, size = bits & 0x7fffU;
    uint32_t wide = (size << 13) + (112U << 23);
    if (size >= 0x7c00) {
      wide += 112U << 23;  // infinity and NaN
    } else if (size < 0x400) {
      wide = std::bit_cast<uint32_t>(static_cast<float>(size) * 0x1p-24F);
    }
    return std::bit_cast<float>(sign | wide);
  }
};

/// BF16: the upper half of a float. From a float: to nearest, ties to even.
struct bfloat {
  uint16_t bits = 0;

  bfloat() = default;
  constexpr explicit bfloat(float x) {
    const auto given = std::bit_cast<uint32_t>(x);
    const bool nan = (given & 0x7fffffff) > 0x7f800000;
    bits = static_cast<uint16_t>(nan ? given >> 16 | 0x40 : (given + 0x7fff + (given >> 16 & 1)) >> 16);
  }
  constexpr explicit operator float() const { return std::bit_cast<float>(uint32_t{bits} << 16); }
};

}  // namespace troupe
