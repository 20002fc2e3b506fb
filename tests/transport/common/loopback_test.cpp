#include "transport/common/loopback.hpp"

#include <doctest/doctest.h>

using namespace troupe;

TEST_CASE("loopback: addresses that only this host can reach, and names of them") {
  for (const char* host : {"127.0.0.1", "127.8.9.10", "::1", "::ffff:127.0.0.1", "localhost"}) {
    CAPTURE(host);
    CHECK(is_loopback(host));
  }
}

TEST_CASE("loopback: other addresses, and what only looks like loopback") {
  for (const char* host : {"", "0.0.0.0", "::", "10.0.0.1", "128.0.0.1", "fe80::1", "127.0.0.999",
                           "127.0.0.1.invalid", "127.evil.invalid"}) {
    CAPTURE(host);
    CHECK_FALSE(is_loopback(host));
  }
}
