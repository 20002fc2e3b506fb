#include "transport/tls_doorkeeper.hpp"

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
    return "a peer that is gone";
  return std::string(host) + ":" + port;
}

}  // namespace

tls_doorkeeper::tls_doorkeeper(const tls_context& context, const clock& time, refusal refused, options o)
    : context_(context), time_(time), refused_(std::move(refused)), options_(o) {
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (wake_ < 0) throw std::runtime_error("cannot make an eventfd");
  thread_ = std::thread([this] { run(); });
}

tls_doorkeeper::~tls_doorkeeper() {
  over_ = true;
  eventfd_write(wake_, 1);
  thread_.join();
  for (auto& g : guests_) close(g.socket);
  for (auto& [socket, done] : arrivals_) close(socket);
  close(wake_);
}

void tls_doorkeeper::greet(int socket, welcome done) {
  bool room;
  {
    std::lock_guard lock(mutex_);
    room = arrivals_.size() < 4 * options_.max_handshakes;
    if (room) arrivals_.emplace_back(socket, std::move(done));
  }
  if (!room)
    close(socket);
  else
    eventfd_write(wake_, 1);
}

void tls_doorkeeper::run() {
  std::vector<pollfd> fds;
  while (!over_) {
    fds.assign(1, {wake_, POLLIN, 0});
    for (const auto& g : guests_) fds.push_back({g.socket, g.wants, 0});
    int wait_ms = -1;
    if (!guests_.empty())
      wait_ms = static_cast<int>(std::clamp(to_ms(guests_.front().until - time_.now()), 0.0, 6e4)) + 1;
    if (poll(fds.data(), fds.size(), wait_ms) < 0) continue;
    const auto now = time_.now();
    size_t kept = 0;
    for (size_t i = 0; i < guests_.size(); ++i) {
      auto& g = guests_[i];
      if (fds[i + 1].revents != 0 && !advance(g)) continue;
      if (g.until <= now) {
        turn_away(g, "no TLS handshake in time");
        continue;
      }
      if (kept != i) guests_[kept] = std::move(g);
      ++kept;
    }
    guests_.erase(guests_.begin() + static_cast<std::ptrdiff_t>(kept), guests_.end());
    take_arrivals();
  }
}

void tls_doorkeeper::take_arrivals() {
  eventfd_t count = 0;
  eventfd_read(wake_, &count);
  std::vector<std::pair<int, welcome>> fresh;
  {
    std::lock_guard lock(mutex_);
    fresh.swap(arrivals_);
  }
  for (auto& [socket, done] : fresh) {
    guest g{socket, std::make_unique<tls_session>(context_, socket), std::move(done),
            time_.now() + options_.patience, POLLIN};
    if (!advance(g)) continue;
    if (guests_.size() >= options_.max_handshakes) make_room();
    guests_.push_back(std::move(g));
  }
}

/// Nodes begin to talk at once: the oldest goes of those who have said nothing, and only then one who has.
void tls_doorkeeper::make_room() {
  auto goes =
      std::find_if(guests_.begin(), guests_.end(), [](const guest& g) { return g.session->silent(); });
  if (goes == guests_.end()) goes = guests_.begin();
  turn_away(*goes, "others came meanwhile");
  guests_.erase(goes);
}

/// False once the guest is welcome or turned away.
bool tls_doorkeeper::advance(guest& g) {
  switch (g.session->handshake()) {
    case tls_session::progress::want_read: g.wants = POLLIN; return true;
    case tls_session::progress::want_write: g.wants = POLLOUT; return true;
    case tls_session::progress::done: g.done(g.socket, std::move(g.session)); return false;
    case tls_session::progress::failed: break;
  }
  if (g.session->silent())
    close(g.socket);
  else
    turn_away(g, g.session->error());
  return false;
}

void tls_doorkeeper::turn_away(guest& g, const std::string& why) {
  const auto from = peer_of(g.socket);
  close(g.socket);
  refused_(from, why);
}

}  // namespace troupe
