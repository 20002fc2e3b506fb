// Powers of integers. Constexpr, so that kernels can use it, too.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>

namespace troupe {

/// x to the power of y for an integer x; ONNX's Pow then truncates the result to an integer. If y is an
/// integer: exact below 2^53, and the nearest double up to 2^63. Otherwise: an integer if the result is one
/// within rounding. (A GPU's pow may be off by two units in the last place, so 3^1 or 9^0.5 would end below
/// 3.) Infinite beyond 2^63, and for 0 to a negative power; 0 for the fractions of negative powers; NaN if
/// the result is not real.
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
