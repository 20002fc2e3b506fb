// Powers of integers. Constexpr, so that kernels may use it, too.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

namespace troupe {

/// x to the power of y, where x is whole: what ONNX's Pow then cuts to an integer. Exact below 2^53,
/// and from there to 2^63 the nearest double, where y is whole; where it is not, whole if it is that but for
/// rounding. The pow of GPUs may be off by two units in the last place, and so 3^1 or 9^0.5 end below 3.
/// Infinite beyond 2^63, and of 0 to a negative power; 0 for fractions that negative powers give; NaN where
/// it is no real number.
constexpr double integer_power(double x, double y) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (y != std::trunc(y)) {
    const double p = std::pow(x, y), whole = std::rint(p);
    return (p < whole ? whole - p : p - whole) <= whole * 0x1p-51 ? whole : p;
  }
  const double size = x < 0 ? -x : x;
  const bool odd = y < 0x1p53 && y > -0x1p53 && std::fmod(y, 2) != 0;
  const double sign = x < 0 && odd ? -1 : 1;
  if (y == 0 || size == 1) return sign;
  if (size == 0) return y < 0 ? infinity : 0;
  if (y < 0) return 0;
  if (size >= 0x1p63 || y > 63) return sign * infinity;
  const auto base = static_cast<uint64_t>(size);
  uint64_t product = 1;
  for (auto left = static_cast<int>(y); left > 0; --left) {
    if (product > (uint64_t{1} << 63) / base) return sign * infinity;
    product *= base;
  }
  return sign * static_cast<double>(product);
}

}  // namespace troupe
