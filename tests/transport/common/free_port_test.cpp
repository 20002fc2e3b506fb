#include "transport/common/free_port.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace troupe;

namespace {

struct bound_socket {
  explicit bound_socket(uint16_t wanted = 0) : fd(::socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(wanted);
    bound = ::bind(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0;
    socklen_t size = sizeof at;
    ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
    port = ntohs(at.sin_port);
  }
  ~bound_socket() { ::close(fd); }
  bound_socket(const bound_socket&) = delete;
  bound_socket& operator=(const bound_socket&) = delete;
  int fd;
  uint16_t port = 0;
  bool bound = false;
};

}  // namespace

TEST_CASE("a listener's port is not free, and a range with another port is") {
  const bound_socket taken;
  REQUIRE(::listen(taken.fd, 1) == 0);
  CHECK_FALSE(has_free_port(taken.port, taken.port));
  const auto first = taken.port < 65000 ? taken.port : static_cast<uint16_t>(taken.port - 100);
  CHECK(has_free_port(first, static_cast<uint16_t>(first + 100)));
}

TEST_CASE("a port is not free while a connection that its listener's process closed lingers") {
  uint16_t port = 0;
  {
    const bound_socket listener;
    port = listener.port;
    REQUIRE(::listen(listener.fd, 1) == 0);
    const bound_socket client;
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    at.sin_port = htons(port);
    REQUIRE(::connect(client.fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
    const int accepted = ::accept(listener.fd, nullptr, nullptr);
    REQUIRE(accepted >= 0);
    ::close(accepted);  // this side closes first and keeps the port in TIME_WAIT
  }
  CHECK_FALSE(bound_socket(port).bound);
  CHECK_FALSE(has_free_port(port, port));
}
