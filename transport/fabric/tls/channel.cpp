#include "transport/fabric/tls/channel.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

namespace troupe::tls {
namespace {

void control(int epoll, int operation, int fd, unsigned events, endpoint* owner) {
  epoll_event e{};
  e.events = events;
  e.data.ptr = owner;
  if (::epoll_ctl(epoll, operation, fd, &e) != 0)
    throw std::system_error(errno, std::generic_category(), "watching a socket");
}

void set(int socket, int level, int option, int value) {
  ::setsockopt(socket, level, option, &value, sizeof value);
}

}  // namespace

void add_to_epoll(int epoll, int fd, endpoint* owner) { control(epoll, EPOLL_CTL_ADD, fd, EPOLLIN, owner); }

channel::channel(int epoll, int socket, std::unique_ptr<tls_session> session, endpoint* owner,
                 uint64_t& moved)
    : epoll_(epoll),
      socket_(socket),
      session_(std::move(session)),
      owner_(owner),
      watched_(EPOLLIN),
      moved_(moved) {
  set(socket, IPPROTO_TCP, TCP_NODELAY, 1);
  // Heartbeats notice a dead host. This is for connections that nobody disconnects.
  set(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(socket, IPPROTO_TCP, TCP_KEEPIDLE, 30);
  set(socket, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  set(socket, IPPROTO_TCP, TCP_KEEPCNT, 3);
  add_to_epoll(epoll, socket, owner);
}

channel::~channel() {
  // Closing alone keeps it in the set while a child that was just forked shares it.
  ::epoll_ctl(epoll_, EPOLL_CTL_DEL, socket_, nullptr);
  ::close(socket_);
}

/// Repeats `step(data, size, n)` until `rest` is empty.
template <class Byte, class Step>
channel::result channel::transfer(std::span<Byte>& rest, size_t& left, Step step) {
  while (!rest.empty()) {
    if (left == 0) return result::pause;
    size_t n = 0;
    switch (step(rest.data(), rest.size(), n)) {
      case tls_session::progress::done: break;
      case tls_session::progress::failed: return result::over;
      case tls_session::progress::want_read:
      case tls_session::progress::want_write: return result::later;
    }
    rest = rest.subspan(n);
    left -= std::min(left, n);
    moved_ += n;
  }
  return result::done;
}

channel::result channel::read(std::span<std::byte>& rest) {
  return transfer(rest, to_read_,
                  [this](void* into, size_t size, size_t& n) { return session_->read(into, size, n); });
}

channel::result channel::write(std::span<const std::byte>& rest) {
  return transfer(rest, to_write_, [this](const void* from, size_t size, size_t& n) {
    return session_->write(from, size, n);
  });
}

void channel::watch(bool readable, bool writable) {
  const unsigned events = (readable ? EPOLLIN : 0u) | (writable ? EPOLLOUT : 0u);
  if (events != std::exchange(watched_, events)) control(epoll_, EPOLL_CTL_MOD, socket_, events, owner_);
}

void channel::end_writing() { ::shutdown(socket_, SHUT_WR); }

}  // namespace troupe::tls
