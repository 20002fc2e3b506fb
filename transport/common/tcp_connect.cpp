#include "transport/common/tcp_connect.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <memory>

namespace troupe {
namespace {

/// 0, or the error. Waits for at most `limit`.
int connect_within(int socket, const addrinfo& at, duration limit) {
  if (::connect(socket, at.ai_addr, at.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd p{socket, POLLOUT, 0};
  const auto ms = std::chrono::ceil<std::chrono::milliseconds>(limit).count();
  if (::poll(&p, 1, static_cast<int>(ms)) != 1) return ETIMEDOUT;
  int error = 0;
  socklen_t size = sizeof error;
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

/// The address cannot be tried from this machine, so the error does not tell whether the host is there.
bool is_unusable_here(int error) {
  return error == EAFNOSUPPORT || error == ENETUNREACH || error == EADDRNOTAVAIL;
}

}  // namespace

tcp_connection connect_tcp(const std::string& host, uint16_t port, duration limit,
                           const on_tcp_socket& watch) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (unknown != 0) return {-1, ::gai_strerror(unknown), false, unknown != EAI_AGAIN};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  int error = 0;
  bool refused = false, open = false;  // by an address; some address neither refuses nor is unusable here
  for (const auto* at = found; at != nullptr; at = at->ai_next) {
    const int socket = ::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket < 0) {
      error = errno;
      open = open || !is_unusable_here(error);
      continue;
    }
    const bool go_on = watch(socket);
    error = go_on ? connect_within(socket, *at, limit) : ECANCELED;
    if (error == 0) return {socket, {}, false, false};
    refused = refused || error == ECONNREFUSED;
    open = open || (error != ECONNREFUSED && !is_unusable_here(error));
    watch(-1);
    ::close(socket);
    if (!go_on) break;
  }
  return {-1, std::strerror(error), refused && !open, false};
}

}  // namespace troupe
