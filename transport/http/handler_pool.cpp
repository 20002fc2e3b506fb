#include "transport/http/handler_pool.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

namespace troupe {

namespace {

/// Lets the io threads, and what answers short requests, run first when there are fewer cores than work. It
/// concerns the calling thread only, and may fail without harm.
void yield_to_other_threads() {
  constexpr int nice = 10;
  static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), nice));
}

void refuse_stopping(http_reply& reply) {
  reply.send(http_error_response(503, "the server is stopping; send the request to another one"));
}

}  // namespace

handler_pool::handler_pool(options o) : options_(o) {
  for (uint32_t i = 0; i < std::max(1u, options_.threads); ++i) threads_.emplace_back([this] { work(); });
}

bool handler_pool::run(http_request& request, http_reply& reply, const handler& handle) {
  if (request.body.size() < options_.min_body_bytes) {
    handle(std::move(request), std::move(reply));
    return true;
  }
  const auto bytes = request.body.size();
  {
    std::lock_guard lock(mutex_);
    if (bytes_ > 0 && bytes > options_.max_bytes - std::min(bytes_, options_.max_bytes)) return false;
    bytes_ += bytes;
  }
  // outside of the lock: the call comes at once if the client has gone already
  auto gone = std::make_shared<std::atomic<bool>>(false);
  reply.on_cancel([gone] { *gone = true; });
  auto one = std::make_unique<waiting>(
      waiting{std::move(request), std::move(reply), handle, bytes, std::move(gone)});
  {
    std::lock_guard lock(mutex_);
    if (!stopped_) queue_.push_back(std::move(one));
    if (one) bytes_ -= bytes;
  }
  if (one)
    refuse_stopping(one->reply);
  else
    changed_.notify_one();
  return true;
}

void handler_pool::work() {
  pthread_setname_np(pthread_self(), "tokenizer");
  yield_to_other_threads();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return stopped_ || !queue_.empty(); });
    if (stopped_) return;
    auto one = std::move(queue_.front());
    queue_.pop_front();
    const auto bytes = one->bytes;
    lock.unlock();
    if (!*one->gone) {
      try {
        one->handle(std::move(one->request), std::move(one->reply));
      } catch (...) {  // unwinding destroyed the reply, which answered 500
      }
    }
    one.reset();
    lock.lock();
    bytes_ -= bytes;
  }
}

void handler_pool::stop() {
  std::deque<std::unique_ptr<waiting>> rest;
  {
    std::lock_guard lock(mutex_);
    stopped_ = true;
    rest.swap(queue_);
    for (const auto& one : rest) bytes_ -= one->bytes;
  }
  changed_.notify_all();
  for (auto& one : rest) refuse_stopping(one->reply);
  for (auto& t : threads_) t.join();
  threads_.clear();
}

uint64_t handler_pool::bytes() const {
  std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace troupe
