#include "transport/common/tcp_probe.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <stdexcept>

#include "transport/common/tcp_connect.hpp"
#include "transport/common/tcp_listener.hpp"

namespace troupe {

bool accepts_connections(const std::string& host, uint16_t port, duration limit) {
  const auto reached = connect_tcp(host, port, limit);
  if (reached.socket >= 0) ::close(reached.socket);
  return reached.socket >= 0;
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
