// Write queue: what a connection has yet to write, in order. Small messages are copied together, because
// every write is a system call and a TLS record. Ranges of registered memory are read when they are written.
#pragma once
#include <cstddef>
#include <deque>
#include <span>
#include <vector>

#include "transport/fabric/pull_plan.hpp"
#include "transport/fabric/tls/channel.hpp"
#include "transport/fabric/tls/wire.hpp"

namespace troupe::tls {

class write_queue {
 public:
  void add(const hello& greeting);
  void add_frame(std::vector<std::byte> frame);
  void add_pull(const pull_plan& plan);
  /// The answer to a pull; the ranges stay valid.
  void add_answer(pull_sources ranges, size_t early);
  void add_refusal();

  /// Writes until it is empty, or says why not.
  channel::result write(channel& to);

  bool empty() const { return pieces_.empty(); }
  size_t pieces() const { return pieces_.size(); }
  size_t frames() const { return frames_; }  ///< that are not written yet; likewise their bytes
  size_t frame_bytes() const { return frame_bytes_; }

 private:
  /// Bytes, and behind them ranges of registered memory: first the early ones.
  struct piece {
    std::vector<std::byte> bytes;
    pull_sources ranges;
    size_t early = 0, next = 0;  ///< the number of early ranges, and the next one to be written
    size_t written = 0;          ///< of the bytes and then of the next range
    size_t frames = 0, frame_bytes = 0;
  };
  static constexpr size_t together = 16u << 10;  ///< bytes of a TLS record

  piece& room_for(size_t bytes);
  void append(piece& to, const void* data, size_t bytes);
  channel::result write_bytes(piece& p, channel& to);
  channel::result write_ranges(piece& p, channel& to);

  std::deque<piece> pieces_;
  std::vector<std::byte> spare_;  ///< memory of a former piece
  size_t frames_ = 0, frame_bytes_ = 0;
};

}  // namespace troupe::tls
