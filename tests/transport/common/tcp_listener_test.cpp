#include "transport/common/tcp_listener.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <string>
#include <vector>

using namespace troupe;

namespace {

int connect_to(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_port = htons(port);
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  REQUIRE(::connect(fd, reinterpret_cast<sockaddr*>(&at), sizeof at) == 0);
  return fd;
}

}  // namespace

TEST_CASE("a TCP listener takes the first free port of its range, and says why if there is none") {
  const tcp_listener any("127.0.0.1", 0, 0);
  REQUIRE(any.port() != 0);
  const auto taken = any.port();
  CHECK_THROWS_WITH_AS(
      tcp_listener("127.0.0.1", taken, taken),
      ("cannot listen at 127.0.0.1:" + std::to_string(taken) + ": Address already in use").c_str(),
      std::runtime_error);
  CHECK_THROWS_WITH_AS(tcp_listener("203.0.113.7", 0, 0), doctest::Contains("cannot listen at 203.0.113.7:0"),
                       std::runtime_error);
  CHECK_THROWS_AS(tcp_listener("no host", 0, 0), std::runtime_error);
  const auto last =
      static_cast<uint16_t>(std::min(taken + 200, 65535));  // room: processes beside this one take ports
  const tcp_listener next("127.0.0.1", taken, last);
  CHECK(next.port() > taken);
  CHECK(next.port() <= last);
}

TEST_CASE("a TCP listener without a free descriptor closes connections, and takes later ones") {
  tcp_listener listener("127.0.0.1", 0, 0);
  CHECK(listener.accept() == -1);
  const int client = connect_to(listener.port());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  const int next = ::dup(0);  // the lowest free descriptor
  ::close(next);
  const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  const int refused = listener.accept();
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  CHECK(refused == -1);
  char byte = 0;
  CHECK(::recv(client, &byte, 1, 0) <= 0);  // closed
  ::close(client);
  const int another = connect_to(listener.port());
  const int accepted = listener.accept();
  CHECK(accepted >= 0);
  ::close(accepted);
  ::close(another);
}
