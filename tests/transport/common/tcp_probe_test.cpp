#include "transport/common/tcp_probe.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

using namespace troupe;

namespace {

/// A port of this host with a full backlog: connections are queued and never accepted.
struct listener {
  explicit listener(int backlog) : fd(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    REQUIRE(::listen(fd, backlog) == 0);
    socklen_t size = sizeof at;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
    port = ntohs(at.sin_port);
  }
  ~listener() {
    ::close(fd);
    for (const int c : taken) ::close(c);
  }
  void fill() {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    for (int i = 0; i < 8; ++i) {
      taken.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0));
      ::connect(taken.back(), reinterpret_cast<sockaddr*>(&at), sizeof at);
    }
  }
  int fd;
  uint16_t port = 0;
  std::vector<int> taken;
};

}  // namespace

TEST_CASE("a probe finds a listening port, and no other") {
  uint16_t port = 0;
  {
    const listener open(8);
    port = open.port;
    CHECK(accepts_connections("127.0.0.1", port, 5s));
    CHECK(accepts_connections("localhost", port, 5s));
  }
  CHECK_FALSE(accepts_connections("127.0.0.1", port, 5s));
  CHECK_FALSE(accepts_connections("no.such.host.invalid", port, 5s));
}

TEST_CASE("a probe of a host without an answer ends at its time limit") {
  listener deaf(0);
  deaf.fill();  // further attempts are ignored, as by a host without power
  const auto began = std::chrono::steady_clock::now();
  CHECK_FALSE(accepts_connections("127.0.0.1", deaf.port, 200ms));
  const auto took = std::chrono::steady_clock::now() - began;
  CHECK(took >= 190ms);
  CHECK(took < 10s);
}
