#include "gpu/common/integer_power.hpp"

#include <doctest/doctest.h>

#include <random>

using namespace troupe;

namespace {
constexpr double infinite = std::numeric_limits<double>::infinity();
}

TEST_CASE("integer power: whole powers are exact, and rounded as a double beyond 2^53") {
  int wrong = 0;
  for (int x = -70; x <= 70; ++x) {
    __int128 exact = 1;
    for (int y = 0; y < 70; ++y) {
      const bool fits = exact <= (__int128{1} << 63) && exact >= -(__int128{1} << 63);
      wrong += fits ? integer_power(x, y) != static_cast<double>(exact)
                    : integer_power(x, y) != (exact < 0 ? -infinite : infinite);
      if (fits) exact *= x;
      if (!fits && x < 0) exact = -exact;  // its sign still counts
    }
  }
  CHECK(wrong == 0);
  CHECK(integer_power(0x1p62, 1) == 0x1p62);
  CHECK(integer_power(-0x1p63, 1) == -infinite);
  CHECK(integer_power(3, 33) == 5559060566555523.0);
  CHECK(integer_power(2, infinite) == infinite);
}

TEST_CASE("integer power: negative exponents truncate, and 0 to a negative power is infinite") {
  CHECK(integer_power(2, -1) == 0);
  CHECK(integer_power(-3, -2) == 0);
  CHECK(integer_power(1, -5) == 1);
  CHECK(integer_power(-1, -5) == -1);
  CHECK(integer_power(-1, -4) == 1);
  CHECK(integer_power(-1, 1e300) == 1);
  CHECK(integer_power(-1, infinite) == 1);
  CHECK(integer_power(0, -1) == infinite);
  CHECK(integer_power(0, 0) == 1);
  CHECK(integer_power(0, 3) == 0);
}

TEST_CASE("integer power: roots of squares are exact, other powers are those of pow") {
  for (int n = 0; n < 2000; ++n) CHECK(integer_power(n * n, 0.5) == n);
  CHECK(integer_power(10, 0.5) == std::pow(10, 0.5));
  CHECK(integer_power(5, 1.5) == std::pow(5, 1.5));
  CHECK(std::isnan(integer_power(-4, 0.5)));
  CHECK(std::isnan(integer_power(2, std::nan(""))));
}
