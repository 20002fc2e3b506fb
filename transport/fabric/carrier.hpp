// Interface of what moves the bytes of a fabric between processes, without threads of its own for them: a
// driven_fabric drives it. The callbacks of fabric_events are called within its calls.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "messages/common/time.hpp"
#include "transport/fabric/fabric.hpp"

namespace troupe {

class carrier {
 public:
  virtual ~carrier() = default;

  // As in `fabric`. `address` and `stats` are called from any thread.
  virtual registered_memory allocate(memory_kind kind, size_t bytes) = 0;
  virtual bool reaches(memory_kind kind) const = 0;
  virtual std::string address() const = 0;
  virtual fabric_stats stats() const = 0;

  // By one thread at a time, the one that drives the fabric.

  /// Runs jobs on the thread that drives the fabric. `post` is called from any thread, until `abandon`
  /// returns. Called once, before all else.
  virtual void set_post(std::function<void(std::function<void()>)>) {}
  /// Receiver of frames and losses; null: none any more.
  virtual void set_events(fabric_events* events) = 0;
  virtual void connect(node_id peer, incarnation_id incarnation, const std::string& address) = 0;
  virtual void disconnect(node_id peer) = 0;
  virtual void renew() = 0;
  virtual void send(node_id to, std::vector<std::byte> frame) = 0;
  virtual void begin_pull(node_id from, pull_plan plan, pull_done done) = 0;
  /// Breaks every connection.
  virtual void break_all(const char* why) = 0;

  /// Hands over to the kernel what was sent and not handed over yet. `progress` does so as well.
  virtual void flush() = 0;
  /// Does what is ready; returns its amount, in small messages, 0 if nothing was.
  virtual unsigned progress() = 0;
  /// Reports and closes broken connections; false if there was none. Called after every turn of progress.
  virtual bool close_broken() = 0;
  /// Whether the progress thread must make a turn although no descriptor is ready.
  virtual bool needs_turn() const = 0;

  /// Readable, once armed, when there is something to do.
  virtual int event_fd() const = 0;
  /// Prepares `event_fd` to report the next event. False if it cannot now, for example because one is ready.
  virtual bool arm() = 0;

  /// Begins to close every connection, once all sent frames have left or the linger time is over.
  virtual void leave_all() = 0;
  /// Whether connections are still being closed.
  virtual bool parting() const = 0;
  /// Gives up those that could not be closed. Nothing but the destructor is called afterwards.
  virtual void abandon() = 0;
};

}  // namespace troupe
