#include "transport/tls/tls_handshaker.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace troupe {
namespace {

std::string peer_of(int socket) {
  sockaddr_storage address{};
  socklen_t size = sizeof address;
  char host[NI_MAXHOST] = {}, port[NI_MAXSERV] = {};
  if (getpeername(socket, reinterpret_cast<sockaddr*>(&address), &size) != 0 ||
      getnameinfo(reinterpret_cast<sockaddr*>(&address), size, host, sizeof host, port, sizeof port,
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "a disconnected peer";
  return std::string(host) + ":" + port;
}

}  // namespace

tls_handshaker::tls_handshaker(const tls_context& context, const clock& time, on_failure failed, options o)
    : context_(context), time_(time), failed_(std::move(failed)), options_(o) {
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) throw std::runtime_error("cannot make an eventfd");
  thread_ = std::thread([this] { run(); });
}

tls_handshaker::~tls_handshaker() {
  over_ = true;
  eventfd_write(wake_, 1);
  thread_.join();
  for (auto& g : handshakes_) close(g.socket);
  for (auto& [socket, done] : queued_) close(socket);
  close(wake_);
}

void tls_handshaker::start(int socket, on_success done) {
  bool room;
  {
    std::lock_guard lock(mutex_);
    room = queued_.size() < 4 * options_.max_handshakes;
    if (room) queued_.emplace_back(socket, std::move(done));
  }
  if (!room)
    close(socket);
  else
    eventfd_write(wake_, 1);
}

void tls_handshaker::run() {
  std::vector<pollfd> fds;
  while (!over_) {
    fds.assign(1, {wake_, POLLIN, 0});
    for (const auto& g : handshakes_) fds.push_back({g.socket, g.wants, 0});
    int wait_ms = -1;
    if (!handshakes_.empty())
      wait_ms = static_cast<int>(std::clamp(to_ms(handshakes_.front().until - time_.now()), 0.0, 6e4)) + 1;
    if (poll(fds.data(), fds.size(), wait_ms) < 0) continue;
    const auto now = time_.now();
    size_t kept = 0;
    for (size_t i = 0; i < handshakes_.size(); ++i) {
      auto& g = handshakes_[i];
      if (fds[i + 1].revents != 0 && !advance(g)) continue;
      if (g.until <= now) {
        reject(g, "the TLS handshake timed out");
        continue;
      }
      if (kept != i) handshakes_[kept] = std::move(g);
      ++kept;
    }
    handshakes_.erase(handshakes_.begin() + static_cast<std::ptrdiff_t>(kept), handshakes_.end());
    take_queued();
  }
}

void tls_handshaker::take_queued() {
  eventfd_t count = 0;
  eventfd_read(wake_, &count);
  std::vector<std::pair<int, on_success>> fresh;
  {
    std::lock_guard lock(mutex_);
    fresh.swap(queued_);
  }
  for (auto& [socket, done] : fresh) {
    handshake g{socket, std::make_unique<tls_session>(context_, socket), std::move(done),
                time_.now() + options_.timeout, POLLIN};
    if (!advance(g)) continue;
    if (handshakes_.size() >= options_.max_handshakes) evict_one();
    handshakes_.push_back(std::move(g));
  }
}

/// Nodes send at once: evicts the oldest silent handshake, or the oldest if none is silent.
void tls_handshaker::evict_one() {
  auto goes = std::find_if(handshakes_.begin(), handshakes_.end(),
                           [](const handshake& g) { return g.session->silent(); });
  if (goes == handshakes_.end()) goes = handshakes_.begin();
  reject(*goes, "evicted in favor of newer connections");
  handshakes_.erase(goes);
}

/// False once the handshake is over.
bool tls_handshaker::advance(handshake& g) {
  switch (g.session->handshake()) {
    case tls_session::progress::want_read: g.wants = POLLIN; return true;
    case tls_session::progress::want_write: g.wants = POLLOUT; return true;
    case tls_session::progress::done: g.done(g.socket, std::move(g.session)); return false;
    case tls_session::progress::failed: break;
  }
  if (g.session->silent())
    close(g.socket);
  else
    reject(g, g.session->error());
  return false;
}

void tls_handshaker::reject(handshake& g, const std::string& why) {
  const auto from = peer_of(g.socket);
  close(g.socket);
  failed_(from, why);
}

}  // namespace troupe
