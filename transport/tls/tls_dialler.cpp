#include "transport/tls/tls_dialler.hpp"

#include <fmt/core.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

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
  ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

}  // namespace

tls_dialler::~tls_dialler() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    for (const auto& a : attempts_)
      if (a.socket >= 0) ::shutdown(a.socket, SHUT_RDWR);  // wakes its thread
  }
  for (auto& a : attempts_) a.thread.join();
}

void tls_dialler::dial(const std::string& host, uint16_t port, on_end done) {
  forget_ended();
  const std::lock_guard lock(mutex_);
  auto& a = attempts_.emplace_back();
  a.thread = std::thread([this, &a, host, port, done = std::move(done)] { run(a, host, port, done); });
}

void tls_dialler::forget_ended() {
  std::list<attempt> ended;
  {
    const std::lock_guard lock(mutex_);
    for (auto a = attempts_.begin(); a != attempts_.end();) {
      const auto next = std::next(a);
      if (a->ended) ended.splice(ended.end(), attempts_, a);
      a = next;
    }
  }
  for (auto& a : ended) a.thread.join();
}

void tls_dialler::run(attempt& a, const std::string& host, uint16_t port, const on_end& done) {
  auto [socket, problem] = connect(a, host, port);
  std::unique_ptr<tls_session> session;
  if (socket >= 0) {
    session = std::make_unique<tls_session>(context_, socket, host);
    if (!session->handshake_within(socket, time_, limit_)) problem = session->error();
  }
  std::unique_lock lock(mutex_);
  a.socket = -1;
  lock.unlock();
  if (problem.empty()) {
    done(socket, std::move(session), {});
  } else {
    session.reset();
    if (socket >= 0) ::close(socket);
    done(-1, nullptr, fmt::format("{}:{}: {}", host, port, problem));
  }
  lock.lock();
  a.ended = true;
}

tls_dialler::connection tls_dialler::connect(attempt& a, const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (unknown != 0) return {-1, ::gai_strerror(unknown)};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  int error = 0;
  for (const auto* at = found; at != nullptr; at = at->ai_next) {
    const int socket = ::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket < 0) {
      error = errno;
      continue;
    }
    if (!begin(a, socket)) error = ECANCELED;
    else if ((error = connect_within(socket, *at, limit_)) == 0) return {socket, {}};
    begin(a, -1);
    ::close(socket);
  }
  return {-1, std::strerror(error)};
}

/// False if the dialler is being destroyed.
bool tls_dialler::begin(attempt& a, int socket) {
  const std::lock_guard lock(mutex_);
  a.socket = socket;
  return !over_;
}

}  // namespace troupe
