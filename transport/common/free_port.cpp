#include "transport/common/free_port.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace troupe {
namespace {

/// True also if the host lacks the address family.
template <class Address>
bool can_bind(const Address& at, int family) {
  const int fd = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return true;
  const int yes = 1;  // otherwise it would include IPv4
  if (family == AF_INET6) ::setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &yes, sizeof yes);
  const bool bound =
      ::bind(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 || errno != EADDRINUSE;
  ::close(fd);
  return bound;
}

bool is_free(uint16_t port) {
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  return can_bind(v4, AF_INET) && can_bind(v6, AF_INET6);
}

}  // namespace

bool has_free_port(uint16_t first, uint16_t last) {
  for (uint32_t port = first; port <= last; ++port)
    if (is_free(static_cast<uint16_t>(port))) return true;
  return false;
}

}  // namespace troupe
