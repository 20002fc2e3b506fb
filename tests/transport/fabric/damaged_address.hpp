// What an address must not survive.
#pragma once
#include <doctest/doctest.h>

#include <string>

namespace troupe::testing {

/// Flips each bit of an encoded address, truncates it everywhere and appends a byte.
template <class Address>
void check_that_damage_is_detected(const std::string& good) {
  Address out;
  for (size_t bit = 0; bit < good.size() * 8; ++bit) {
    std::string bad = good;
    bad[bit / 8] = static_cast<char>(bad[bit / 8] ^ (1 << bit % 8));
    INFO("bit ", bit);
    CHECK(!decode(bad, out).empty());
  }
  for (size_t n = 0; n < good.size(); ++n) CHECK(!decode(good.substr(0, n), out).empty());
  CHECK(!decode(good + "x", out).empty());
}

}  // namespace troupe::testing
