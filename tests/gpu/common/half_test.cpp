#include "gpu/common/half.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace troupe;

namespace {

float widened(uint16_t half_bits) {
  half h;
  h.bits = half_bits;
  return static_cast<float>(h);
}

constexpr float infinite_float = std::numeric_limits<float>::infinity();

}  // namespace

TEST_CASE("every FP16 number converts to float by its definition, and back") {
  int wrong = 0;
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const int exponent = static_cast<int>(bits >> 10 & 0x1f), fraction = static_cast<int>(bits & 0x3ff);
    const float x = widened(static_cast<uint16_t>(bits));
    if (exponent == 31 && fraction != 0) {
      wrong += !std::isnan(x) || (half(x).bits & 0x7c00) != 0x7c00 || (half(x).bits & 0x3ff) == 0;
      continue;
    }
    float size = exponent == 0 ? std::ldexp(static_cast<float>(fraction), -24)
                               : std::ldexp(static_cast<float>(1024 + fraction), exponent - 25);
    if (exponent == 31) size = infinite_float;
    wrong += x != (bits & 0x8000 ? -size : size) || half(x).bits != bits;
  }
  CHECK(wrong == 0);
}

TEST_CASE("a float rounds to the nearest FP16 number, ties to even") {
  int wrong = 0;
  for (uint16_t bits = 0; bits < 0x7bff; ++bits) {
    const float low = widened(bits), high = widened(static_cast<uint16_t>(bits + 1)),
                middle = (low + high) / 2;
    wrong += half(middle).bits != bits + (bits & 1);
    wrong += half(std::nextafter(middle, 0.0F)).bits != bits;
    wrong += half(std::nextafter(middle, infinite_float)).bits != bits + 1;
  }
  CHECK(wrong == 0);
  CHECK(half(65519.99F).bits == 0x7bff);
  CHECK(half(65520).bits == 0x7c00);
  CHECK(half(-1e30F).bits == 0xfc00);
  CHECK(half(std::ldexp(1.0F, -25)).bits == 0);
  CHECK(half(-0.0F).bits == 0x8000);
}

TEST_CASE("a float rounds to the nearest BF16 number, ties to even, and NaN and infinity are kept") {
  const auto from = [](uint32_t bits) { return bfloat(std::bit_cast<float>(bits)).bits; };
  CHECK(bfloat(1).bits == 0x3f80);
  CHECK(from(0x3f808000) == 0x3f80);
  CHECK(from(0x3f808001) == 0x3f81);
  CHECK(from(0x3f818000) == 0x3f82);
  CHECK(from(0x7f7fffff) == 0x7f80);  // the largest float rounds to infinity
  CHECK(from(0xff800000) == 0xff80);
  CHECK(from(0x7f800001) == 0x7fc0);
  CHECK(static_cast<float>(bfloat(-2.5F)) == -2.5F);
}
