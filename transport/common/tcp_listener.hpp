#pragma once
#include <cstdint>
#include <string>

namespace troupe {

/// Listens on one TCP port. Sockets are non-blocking.
class tcp_listener {
 public:
  /// The first free port of first..last; 0: any. `host` is a name or an address. Throws std::runtime_error.
  tcp_listener(const std::string& host, uint16_t first, uint16_t last);
  ~tcp_listener();
  tcp_listener(const tcp_listener&) = delete;
  tcp_listener& operator=(const tcp_listener&) = delete;

  int fd() const { return fd_; }
  uint16_t port() const { return port_; }
  /// The next connection; -1 if none waits. A process without a free descriptor closes it, because it would
  /// wait for ever and keep `fd` readable.
  int accept();

 private:
  int fd_ = -1;
  int spare_ = -1;  ///< its descriptor is used to close such a connection
  uint16_t port_ = 0;
};

}  // namespace troupe
