// A handler whose behaviour depends on the path, for tests of the HTTP server.
#pragma once
#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <string>
#include <utility>

#include "transport/http/server.hpp"

namespace troupe {

// Answers /echo at once with its body, /throw with an exception, /forget never; holds others until told.
// Refuses requests with the header X-Key: wrong.
class stage_handler final : public http_handler {
 public:
  std::optional<http_response> admit(http_request& head) override {
    ++asked;
    CHECK(head.body.empty());
    if (head.path == "/admit-throws") throw std::runtime_error("a guard's bug");
    if (head.headers.find("X-Key") == "wrong") return http_error_response(401, "wrong key");
    head.tenant = 7;
    return {};
  }
  void handle(http_request request, http_reply reply) override {
    if (request.path == "/tenant") return reply.send({.headers = {}, .body = std::to_string(request.tenant)});
    if (request.path == "/echo")
      return reply.send(
          {.content_type = "text/plain", .headers = {{"X-Query", request.query}}, .body = request.body});
    if (request.path == "/throw") throw std::runtime_error("a handler's bug");
    if (request.path == "/forget") return;
    if (request.path == "/big") {
      ++big;
      return reply.send({.headers = {}, .body = std::string(32 << 20, 'x')});
    }
    reply.on_cancel([this] {
      ++cancelled;
      changed_.notify_all();
    });
    std::lock_guard lock(mutex_);
    kept_.emplace_back(std::move(request.path), std::move(reply));
    changed_.notify_all();
  }

  /// Waits for a request to arrive and answers it with its path, from the caller's thread.
  std::string answer_next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !kept_.empty(); });
    auto [path, reply] = std::move(kept_.front());
    kept_.pop_front();
    lock.unlock();
    reply.send({.headers = {}, .body = path});
    return path;
  }
  void wait_for(size_t requests) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return kept_.size() >= requests; });
  }
  bool wait_for_cancelled(int n) {
    std::unique_lock lock(mutex_);
    while (cancelled < n)
      if (changed_.wait_for(lock, 10ms) == std::cv_status::timeout && ++patience_ > 3000) return false;
    return true;
  }
  void forget_all() {
    std::lock_guard lock(mutex_);
    kept_.clear();
  }

  std::atomic<int> asked{0};  // calls of admit
  std::atomic<int> cancelled{0};
  std::atomic<int> big{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, http_reply>> kept_;
  int patience_ = 0;
};

}  // namespace troupe
