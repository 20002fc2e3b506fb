#include "transport/tls/tls_dialler.hpp"

#include <fmt/core.h>
#include <sys/socket.h>
#include <unistd.h>

#include <exception>
#include <system_error>
#include <utility>

#include "transport/common/tcp_connect.hpp"

namespace troupe {
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
  auto to = connect_tcp(host, port, options_.attempt, [&](int socket) { return begin(a, socket); });
  return {to.socket, nullptr, std::move(to.problem), to.refused || to.unknown};
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
