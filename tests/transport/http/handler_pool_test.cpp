#include "transport/http/handler_pool.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

#include "tests/transport/http/raw_client.hpp"
#include "transport/http/server.hpp"

namespace troupe {
namespace {

/// The answer to a request, and the client's end.
struct exchange final : http_exchange {
  void respond(http_response r) override {
    std::lock_guard lock(mutex);
    if (status != 0) return;
    status = r.status;
    changed.notify_all();
  }
  void on_cancel(std::function<void()> call) override { cancel = std::move(call); }
  void begin(http_response) override {}
  void write(std::string) override {}
  void end(bool) override {}
  unsigned answer() {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return status != 0; });
    return status;
  }
  std::mutex mutex;
  std::condition_variable changed;
  unsigned status = 0;
  std::function<void()> cancel;
};

/// A gate at which handlers wait.
struct gate {
  void pass() {
    std::unique_lock lock(mutex);
    ++arrived;
    changed.notify_all();
    changed.wait(lock, [&] { return open; });
  }
  void wait_for(int n) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return arrived >= n; });
  }
  void release() {
    std::lock_guard lock(mutex);
    open = true;
    changed.notify_all();
  }
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0;
  bool open = false;
};

bool run(handler_pool& pool, const std::shared_ptr<exchange>& to, size_t bytes,
         const handler_pool::handler& handle) {
  http_request request;
  request.body.assign(bytes, 'x');
  http_reply reply(to);
  const bool taken = pool.run(request, reply, handle);
  if (!taken) {
    CHECK(request.body.size() == bytes);
    reply.send(http_error_response(429, "too many"));
  }
  return taken;
}

void answer_ok(const http_request&, http_reply reply) { reply.send(http_response{}); }

}  // namespace

TEST_CASE("short requests are handled at once on the caller's thread, long ones on another") {
  handler_pool pool({.threads = 1, .min_body_bytes = 100});
  std::thread::id thread;
  const auto handle = [&](const http_request&, http_reply reply) {
    thread = std::this_thread::get_id();
    reply.send(http_response{});
  };
  const auto small = std::make_shared<exchange>(), large = std::make_shared<exchange>();
  CHECK(run(pool, small, 99, handle));
  CHECK(small->status == 200);
  CHECK(thread == std::this_thread::get_id());
  CHECK(run(pool, large, 100, handle));
  CHECK(large->answer() == 200);
  CHECK(thread != std::this_thread::get_id());
}

TEST_CASE("bodies beyond the bound are refused until others have been handled, and one alone is not") {
  gate g;
  handler_pool pool({.threads = 1, .min_body_bytes = 10, .max_bytes = 100});
  const auto slow = [&](const http_request&, http_reply reply) {
    g.pass();
    reply.send(http_response{});
  };
  const auto first = std::make_shared<exchange>(), second = std::make_shared<exchange>();
  CHECK(run(pool, first, 60, slow));
  CHECK(run(pool, second, 40, slow));
  CHECK(pool.bytes() == 100);
  const auto refused = std::make_shared<exchange>(), small = std::make_shared<exchange>();
  CHECK_FALSE(run(pool, refused, 10, slow));
  CHECK(refused->status == 429);
  CHECK(run(pool, small, 9, answer_ok));  // shorter ones need no room
  CHECK(small->status == 200);
  g.release();
  CHECK(first->answer() == 200);
  CHECK(second->answer() == 200);
  while (pool.bytes() > 0) std::this_thread::yield();
  const auto alone = std::make_shared<exchange>();
  CHECK(run(pool, alone, 1000, answer_ok));
  CHECK(alone->answer() == 200);
}

TEST_CASE("a request whose client has gone is not handled") {
  gate g;
  handler_pool pool({.threads = 1, .min_body_bytes = 1});
  std::atomic<int> handled{0};
  const auto first = std::make_shared<exchange>(), gone = std::make_shared<exchange>(),
             last = std::make_shared<exchange>();
  CHECK(run(pool, first, 1, [&](const http_request&, http_reply reply) {
    g.pass();
    reply.send(http_response{});
  }));
  g.wait_for(1);
  const auto count = [&](const http_request&, http_reply reply) {
    ++handled;
    reply.send(http_response{});
  };
  CHECK(run(pool, gone, 1, count));
  CHECK(run(pool, last, 1, count));
  gone->cancel();
  g.release();
  CHECK(last->answer() == 200);
  CHECK(handled == 1);
}

TEST_CASE("a handler that throws or forgets its reply answers 500, and the pool goes on") {
  handler_pool pool({.threads = 1, .min_body_bytes = 1});
  const auto throws = std::make_shared<exchange>(), forgets = std::make_shared<exchange>(),
             next = std::make_shared<exchange>();
  CHECK(
      run(pool, throws, 1, [](const http_request&, const http_reply&) { throw std::runtime_error("bug"); }));
  CHECK(run(pool, forgets, 1, [](const http_request&, const http_reply&) {}));
  CHECK(run(pool, next, 1, answer_ok));
  CHECK(throws->answer() == 500);
  CHECK(forgets->answer() == 500);
  CHECK(next->answer() == 200);
}

TEST_CASE("stopping waits for running handlers and answers 503 to waiting and later requests") {
  gate g;
  handler_pool pool({.threads = 1, .min_body_bytes = 1});
  std::atomic<bool> finished{false};
  const auto running = std::make_shared<exchange>(), waits = std::make_shared<exchange>(),
             later = std::make_shared<exchange>();
  CHECK(run(pool, running, 1, [&](const http_request&, http_reply reply) {
    g.pass();
    finished = true;
    reply.send(http_response{});
  }));
  g.wait_for(1);
  CHECK(run(pool, waits, 1, answer_ok));
  std::thread stopper([&] { pool.stop(); });
  CHECK(waits->answer() == 503);
  CHECK_FALSE(finished);
  g.release();
  stopper.join();
  CHECK(finished);
  CHECK(running->answer() == 200);
  CHECK(run(pool, later, 1, answer_ok));
  CHECK(later->answer() == 503);
  CHECK(pool.bytes() == 0);
}

TEST_CASE("a small request overtakes a long one, clients may leave, and a server may stop at any time") {
  struct pooled final : http_handler {
    void handle(http_request request, http_reply reply) override {
      const auto handle_later = [this](const http_request&, http_reply r) {
        if (holding) g.pass();
        r.send(http_response{});
      };
      if (!pool.run(request, reply, handle_later)) reply.send(http_error_response(503, "busy"));
    }
    gate g;
    std::atomic<bool> holding{true};
    handler_pool pool{{.threads = 2, .min_body_bytes = 1000}};
  } handler;
  const auto post = [](http_raw_client& c, size_t bytes) {
    c.send("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(bytes) + "\r\n\r\n" +
           std::string(bytes, 'x'));
  };
  auto server = std::make_unique<http_server>(http_server_options{}, handler);
  http_raw_client large(server->port()), small(server->port());
  post(large, 1000);
  handler.g.wait_for(1);
  {
    http_raw_client leaves(server->port());
    post(leaves, 1000);
  }
  handler.holding = false;
  post(small, 10);
  CHECK(small.receive().status == 200);
  handler.g.release();
  CHECK(large.receive().status == 200);
  std::vector<http_raw_client> many;
  for (int i = 0; i < 20; ++i) post(many.emplace_back(server->port()), 5000);
  server.reset();
  handler.pool.stop();
  CHECK(handler.pool.bytes() == 0);
}

}  // namespace troupe
