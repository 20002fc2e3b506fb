// Threads for handlers whose work grows with the body of their request: on the io threads, a long body would
// delay the other connections.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "transport/http/message.hpp"

namespace troupe {

/// Its threads have a lower priority than others. Thread-safe.
class handler_pool {
 public:
  struct options {
    uint32_t threads = 2;
    size_t min_body_bytes = 16 << 10;  ///< shorter ones are handled at once, on the caller's thread
    uint64_t max_bytes = 256 << 20;    ///< of all bodies in the pool; a body alone may be larger
  };
  using handler = std::function<void(http_request, http_reply)>;

  explicit handler_pool(options o);
  ~handler_pool() { stop(); }
  handler_pool(const handler_pool&) = delete;
  handler_pool& operator=(const handler_pool&) = delete;

  /// Calls `handle` now, or later on a thread of the pool, in the order of arrival; not at all if the client
  /// has gone before that. `handle` may throw once it has the reply, which answers 500. `handle` and all that
  /// it refers to live until `stop` returns. False: too many bytes wait; `request` and `reply` are unchanged.
  bool run(http_request& request, http_reply& reply, const handler& handle);

  /// Waits for handlers that have begun. Requests that wait, and later ones, are answered 503. Idempotent;
  /// for one caller.
  void stop();

  /// Bytes of the bodies in the pool.
  uint64_t bytes() const;

 private:
  struct waiting {
    http_request request;
    http_reply reply;
    handler handle;
    uint64_t bytes = 0;
    std::shared_ptr<std::atomic<bool>> gone;  // the client
  };
  void work();

  const options options_;
  mutable std::mutex mutex_;  // of the rest, except threads_
  std::condition_variable changed_;
  std::deque<std::unique_ptr<waiting>> queue_;
  uint64_t bytes_ = 0;
  bool stopped_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace troupe
