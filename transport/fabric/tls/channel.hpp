// Channel: a connection with its TLS session in an epoll set.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "transport/tls/tls.hpp"

namespace troupe::tls {

/// What an epoll set of the fabric refers to.
class endpoint {
 public:
  virtual ~endpoint() = default;
  /// Its descriptor is ready. True if there is more to do although the descriptor may not say so.
  virtual bool ready() = 0;
  /// Writes what it can; likewise.
  virtual bool write() { return false; }

  bool in_unwritten = false, in_unfinished = false;  ///< lists of `shared_state`
};

class channel {
 public:
  enum class result {
    done,   ///< all bytes
    later,  ///< some of them; `endpoint::ready` will be called when it can go on
    pause,  ///< some of them: others are to have their turn
    over,   ///< the connection is broken
  };

  /// Owns the socket. Reports to `owner` that it is readable.
  channel(int epoll, int socket, std::unique_ptr<tls_session> session, endpoint* owner);
  ~channel();
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  /// Reads until `rest` is empty, and shortens it.
  result read(std::span<std::byte>& rest);
  /// Writes until `rest` is empty, and shortens it. After `later` the same bytes come again, at any address,
  /// and others may follow them.
  result write(std::span<const std::byte>& rest);
  /// Which readiness is reported.
  void watch(bool readable, bool writable);
  /// Nothing more will be written.
  void end_writing();
  const std::string& error() const { return session_->error(); }

 private:
  static constexpr size_t most_at_once = 512u << 10;

  template <class Byte, class Step>
  result transfer(std::span<Byte>& rest, Step step);

  const int epoll_, socket_;
  const std::unique_ptr<tls_session> session_;
  endpoint* const owner_;
  unsigned watched_ = 0;  ///< epoll's events
};

/// Adds a descriptor that is readable when its endpoint is ready.
void add_to_epoll(int epoll, int fd, endpoint* owner);

}  // namespace troupe::tls
