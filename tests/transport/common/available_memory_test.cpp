#include "transport/common/available_memory.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("available memory: the kernel's value, in bytes") {
  CHECK(available_memory(
            "MemTotal:       24635768 kB\nMemFree:          512 kB\nMemAvailable:   22000000 kB\n") ==
        uint64_t{22000000} << 10);
  CHECK(available_memory("MemAvailable: 7 kB") == 7 << 10);
  CHECK(available_memory("MemAvailable: 7 kB\nHugePages_Free:    3\nHugepagesize:   2048 kB\n") ==
        uint64_t{7 + 3 * 2048} << 10);
  for (const char* nothing : {"", "MemTotal: 5 kB\n", "MemAvailable:", "MemAvailable:   kB",
                              "MemAvailable: -3 kB", "MemAvailable: 99999999999999999999 kB"})
    CHECK_FALSE(available_memory(nothing));
}

TEST_CASE("available memory: it is greater than zero on this machine") {
  const auto now = available_memory();
  REQUIRE(now);
  CHECK(*now > 1 << 20);
}
