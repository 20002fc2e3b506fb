#include "transport/common/tcp_probe.hpp"

#include <fmt/format.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <stdexcept>

#include "transport/common/tcp_listener.hpp"

namespace troupe {

bool accepts_connections(const std::string& host, uint16_t port, duration limit) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return false;
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  bool yes = ::connect(fd, found->ai_addr, found->ai_addrlen) == 0;
  if (!yes && errno == EINPROGRESS) {
    pollfd p{fd, POLLOUT, 0};
    const auto ms = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
    int error = 1;
    socklen_t size = sizeof error;
    yes = ::poll(&p, 1, static_cast<int>(ms)) == 1 &&
          ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 && error == 0;
  }
  ::close(fd);
  return yes;
}

std::string listening_problem(const std::string& host, uint16_t port) {
  try {
    const tcp_listener now_it_can(host, port, port);
  } catch (const std::runtime_error& e) {
    return e.what();
  }
  return fmt::format("cannot listen at {}:{}", host, port);
}

}  // namespace troupe
