#include "transport/common/tcp_listener.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <stdexcept>

namespace troupe {
namespace {

uint16_t port_of(int fd) {
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size);
  return ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(at).sin6_port
                                        : reinterpret_cast<sockaddr_in&>(at).sin_port);
}

/// -1, with errno, if it cannot listen there.
int listen_at(const addrinfo& at) {
  const int fd = ::socket(at.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int yes = 1;
  ::setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(fd, at.ai_addr, at.ai_addrlen) == 0 && ::listen(fd, SOMAXCONN) == 0) return fd;
  const int why = errno;
  ::close(fd);
  errno = why;
  return -1;
}

}  // namespace

tcp_listener::tcp_listener(const std::string& host, uint16_t first, uint16_t last) {
  int why = 0;
  for (uint32_t port = first; port <= last && fd_ < 0; ++port) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_PASSIVE;
    addrinfo* found = nullptr;
    const int unknown = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
    if (unknown != 0)
      throw std::runtime_error(fmt::format("cannot listen at {}: {}", host, ::gai_strerror(unknown)));
    const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
    fd_ = listen_at(*found);
    if (fd_ < 0 && (why = errno) != EADDRINUSE) break;
  }
  if (fd_ < 0) {
    const auto ports = first == last ? std::to_string(first) : fmt::format("{}-{}", first, last);
    throw std::runtime_error(fmt::format("cannot listen at {}:{}: {}", host, ports, std::strerror(why)));
  }
  port_ = port_of(fd_);
  spare_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
}

tcp_listener::~tcp_listener() {
  ::close(fd_);
  ::close(spare_);
}

int tcp_listener::accept() {
  const int fd = ::accept4(fd_, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (fd >= 0 || (errno != EMFILE && errno != ENFILE)) return fd;
  ::close(spare_);
  const int refused = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
  if (refused >= 0) ::close(refused);
  spare_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  return -1;
}

}  // namespace troupe
