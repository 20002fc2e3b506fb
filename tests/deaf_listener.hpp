// A local port whose connections are queued and never accepted.
#pragma once
#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdint>
#include <vector>

namespace troupe {

class deaf_listener {
 public:
  explicit deaf_listener(int backlog) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    at_.sin_family = AF_INET;
    at_.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    REQUIRE(::bind(fd_, address(), sizeof at_) == 0);
    REQUIRE(::listen(fd_, backlog) == 0);
    socklen_t size = sizeof at_;
    ::getsockname(fd_, address(), &size);
  }
  ~deaf_listener() {
    ::close(fd_);
    for (const int c : queued_) ::close(c);
  }
  deaf_listener(const deaf_listener&) = delete;
  deaf_listener& operator=(const deaf_listener&) = delete;

  uint16_t port() const { return ntohs(at_.sin_port); }

  /// Fills a short backlog: further attempts are ignored, as by a host without power.
  void fill() {
    for (int i = 0; i < 8; ++i) {
      queued_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      ::connect(queued_.back(), address(), sizeof at_);
    }
  }

 private:
  sockaddr* address() { return reinterpret_cast<sockaddr*>(&at_); }

  const int fd_;
  sockaddr_in at_{};
  std::vector<int> queued_;
};

/// Nothing listens there.
inline uint16_t closed_port() { return deaf_listener(1).port(); }

}  // namespace troupe
