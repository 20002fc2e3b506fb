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
#include <exception>
#include <system_error>
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
  ending_.notify_all();
  for (auto& a : attempts_) a.thread.join();
}

void tls_dialler::dial(const std::string& host, uint16_t port, on_end done) {
  forget_ended();
  const std::lock_guard lock(mutex_);
  auto& a = attempts_.emplace_back();
  try {
    a.thread = std::thread([this, &a, host, port, done] { run(a, host, port, done); });
  } catch (const std::system_error& e) {
    attempts_.pop_back();
    done(-1, nullptr, fmt::format("{}:{}: {}", host, port, e.what()));
  }
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
  const auto until = time_.now() + options_.total;
  auto c = reach(a, host, port);
  while (!c.problem.empty() && !c.final && time_.now() < until && pause()) c = reach(a, host, port);
  if (c.problem.empty())
    done(c.socket, std::move(c.session), {});
  else
    done(-1, nullptr, fmt::format("{}:{}: {}", host, port, c.problem));
  const std::lock_guard lock(mutex_);
  a.ended = true;
}

/// One attempt, with its handshake.
tls_dialler::connection tls_dialler::reach(attempt& a, const std::string& host, uint16_t port) {
  auto c = connect(a, host, port);
  if (c.socket < 0) return c;
  try {
    c.session = std::make_unique<tls_session>(context_, c.socket, host);
    if (!c.session->handshake_within(c.socket, time_, options_.attempt)) c.problem = c.session->error();
  } catch (const std::exception& e) {  // the host is no name for a certificate
    c.problem = e.what();
    c.final = true;
  }
  begin(a, -1);
  if (c.problem.empty()) return c;
  c.session.reset();
  ::close(std::exchange(c.socket, -1));
  return c;
}

tls_dialler::connection tls_dialler::connect(attempt& a, const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (unknown != 0) return {-1, nullptr, ::gai_strerror(unknown), unknown != EAI_AGAIN};
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> owned(found, &freeaddrinfo);
  int error = 0;
  for (const auto* at = found; at != nullptr; at = at->ai_next) {
    const int socket = ::socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket < 0) {
      error = errno;
      continue;
    }
    error = begin(a, socket) ? connect_within(socket, *at, options_.attempt) : ECANCELED;
    if (error == 0) return {socket, nullptr, {}, false};
    begin(a, -1);
    ::close(socket);
  }
  return {-1, nullptr, std::strerror(error), error == ECONNREFUSED};
}

/// Notes the socket, or that there is none. False if the dialler is being destroyed; likewise `pause`.
bool tls_dialler::begin(attempt& a, int socket) {
  const std::lock_guard lock(mutex_);
  a.socket = socket;
  return !over_;
}

bool tls_dialler::pause() {
  constexpr auto between_attempts = std::chrono::milliseconds(100);
  std::unique_lock lock(mutex_);
  ending_.wait_for(lock, between_attempts, [this] { return over_; });
  return !over_;
}

}  // namespace troupe
