// Channel: a connection with its TLS session in an epoll set.
#pragma once
#include <cstddef>
#include <cstdint>
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

  /// Owns the socket. Reports to `owner` that it is readable. Adds the bytes that it moves to `moved`.
  channel(int epoll, int socket, std::unique_ptr<tls_session> session, endpoint* owner, uint64_t& moved);
  ~channel();
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  /// The owner has its turn: reads pause after `turn_bytes`, and writes likewise.
  void begin_turn() { to_read_ = to_write_ = turn_bytes; }
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
  static constexpr size_t turn_bytes = 128u << 10;

  template <class Byte, class Step>
  result transfer(std::span<Byte>& rest, size_t& left, Step step);

  const int epoll_, socket_;
  const std::unique_ptr<tls_session> session_;
  endpoint* const owner_;
  unsigned watched_ = 0;               ///< epoll's events
  size_t to_read_ = 0, to_write_ = 0;  ///< bytes that are left of this turn
  uint64_t& moved_;
};

/// Adds a descriptor that is readable when its endpoint is ready.
void add_to_epoll(int epoll, int fd, endpoint* owner);

}  // namespace troupe::tls
