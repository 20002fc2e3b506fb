#include "transport/common/tcp_probe.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "tests/deaf_listener.hpp"

using namespace troupe;

TEST_CASE("a probe finds a listening port, and no other") {
  uint16_t port = 0;
  {
    const deaf_listener open(8);
    port = open.port();
    CHECK(accepts_connections("127.0.0.1", port, 5s));
    CHECK(accepts_connections("localhost", port, 5s));
  }
  CHECK_FALSE(accepts_connections("127.0.0.1", port, 5s));
  CHECK_FALSE(accepts_connections("no.such.host.invalid", port, 5s));
}

TEST_CASE("a probe of a host without an answer ends at its time limit") {
  deaf_listener deaf(0);
  deaf.fill();
  const auto began = std::chrono::steady_clock::now();
  CHECK_FALSE(accepts_connections("127.0.0.1", deaf.port(), 200ms));
  const auto took = std::chrono::steady_clock::now() - began;
  CHECK(took >= 190ms);
  CHECK(took < 10s);
}
