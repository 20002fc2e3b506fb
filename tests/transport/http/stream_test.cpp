// Answers with streamed bodies.
#include <doctest/doctest.h>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "tests/transport/http/raw_client.hpp"
#include "transport/http/server.hpp"

namespace troupe {
namespace {

using client = http_raw_client;

// Begins a stream for every request, with its path as the first piece, and keeps it; answers /whole in one
// piece.
class stream_handler final : public http_handler {
 public:
  void handle(http_request request, http_reply reply) override {
    if (request.path == "/whole") return reply.send({.headers = {}, .body = "whole"});
    reply.on_cancel([this] {
      std::lock_guard lock(mutex_);
      ++cancelled_;
      changed_.notify_all();
    });
    auto stream = reply.begin({.content_type = "text/event-stream",
                               .headers = {{"Cache-Control", "no-store"}},
                               .body = request.path == "/silent" ? "" : request.path});
    std::lock_guard lock(mutex_);
    open_.push_back(std::move(stream));
    changed_.notify_all();
  }

  http_stream next() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return !open_.empty(); });
    auto stream = std::move(open_.front());
    open_.pop_front();
    return stream;
  }
  bool wait_for_cancelled(int n, duration timeout = 30s) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, timeout, [&] { return cancelled_ >= n; });
  }
  int cancelled() {
    std::lock_guard lock(mutex_);
    return cancelled_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<http_stream> open_;
  int cancelled_ = 0;
};

TEST_CASE("each piece of a stream arrives before the next one is written") {
  stream_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/first");
  auto stream = stage.next();
  const auto head = c.receive_head();
  CHECK(head.status == 200);
  CHECK(head.has("Content-Type: text/event-stream\r\n"));
  CHECK(head.has("Transfer-Encoding: chunked\r\n"));
  CHECK(head.has("Cache-Control: no-store\r\n"));
  CHECK_FALSE(head.has("Content-Length"));
  CHECK_FALSE(head.has("Connection"));
  CHECK(c.receive_chunk() == "/first");
  for (int i = 0; i < 100; ++i) {
    stream.write("piece " + std::to_string(i));
    CHECK(c.receive_chunk() == "piece " + std::to_string(i));
  }
  stream.end();
  CHECK(c.receive_chunk() == "");
}

TEST_CASE("the head of a stream arrives before its first piece, and an empty piece does not end the stream") {
  stream_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/silent");
  CHECK(c.receive_head().status == 200);
  auto stream = stage.next();
  stream.write("");
  stream.write(std::string("\0\r\n", 3));
  CHECK(c.receive_chunk() == std::string("\0\r\n", 3));
  stream.end();
  CHECK(c.receive_chunk() == "");
}

TEST_CASE("a connection serves requests after a stream, also those received during it") {
  stream_handler stage;
  http_server server({}, stage);
  client c(server.port());
  for (int i = 0; i < 3; ++i) {
    c.get("/a");
    c.get("/whole");
    c.get("/b");
    for (const char* path : {"/a", "/b"}) {
      auto stream = stage.next();
      CHECK(c.receive_head().status == 200);
      CHECK(c.receive_chunk() == path);
      stream.write("more");
      stream.end();
      CHECK(c.receive_chunk() == "more");
      CHECK(c.receive_chunk() == "");
      if (path == std::string_view("/a")) CHECK(c.receive().body == "whole");
    }
  }
  CHECK(server.connections() == 1);
  CHECK(stage.cancelled() == 0);
}

TEST_CASE("a client that closes its sending side gets its stream to the end") {
  stream_handler stage;
  http_server server({.half_close_timeout = 2s}, stage);  // from write to write, not for the whole stream
  client c(server.port());
  c.get("/a");
  c.half_close();
  auto stream = stage.next();
  CHECK(c.receive_head().status == 200);
  CHECK(c.receive_chunk() == "/a");
  for (int i = 0; i < 6; ++i) {
    std::this_thread::sleep_for(400ms);
    stream.write("more");
    CHECK(c.receive_chunk() == "more");
  }
  stream.end();
  CHECK(c.receive_chunk() == "");
  CHECK(stage.cancelled() == 0);
}

TEST_CASE("a disconnect during an idle stream is noticed soon") {
  stream_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/a");
  auto stream = stage.next();
  CHECK(c.receive_head().status == 200);
  CHECK(c.receive_chunk() == "/a");
  CHECK(stage.cancelled() == 0);
  c.disconnect();
  CHECK(stage.wait_for_cancelled(1));
  stream.write("too late, harmless");
  stream.end();
  CHECK(stage.cancelled() == 1);
}

TEST_CASE("a stream that is dropped ends the connection without the last chunk") {
  stream_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/a");
  {
    auto stream = stage.next();
    stream.write("half of a sen");
  }
  CHECK(c.receive_head().status == 200);
  CHECK(c.receive_chunk() == "/a");
  CHECK(c.receive_chunk() == "half of a sen");
  CHECK_FALSE(c.receive_chunk());
  CHECK(c.closed_within(20s));
  CHECK(stage.cancelled() == 0);
}

TEST_CASE("a stream to an HTTP/1.0 client is not chunked, and ends with the connection") {
  stream_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.send("GET /a HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
  auto stream = stage.next();
  const auto head = c.receive_head();
  CHECK_FALSE(head.has("chunked"));
  CHECK(head.has("Connection: close\r\n"));
  CHECK(c.receive_bytes(2) == "/a");
  stream.write("bc");
  CHECK(c.receive_bytes(2) == "bc");
  stream.write("d");
  stream.end();
  CHECK(c.receive_bytes(2) == "d");
  CHECK_FALSE(c.was_reset());
}

TEST_CASE("a stream that is dropped resets a connection of HTTP/1.0") {
  stream_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.send("GET /a HTTP/1.0\r\n\r\n");
  {
    const auto stream = stage.next();
    CHECK(c.receive_head().status == 200);
    CHECK(c.receive_bytes(2) == "/a");
  }
  CHECK(c.receive_bytes(1) == "");
  CHECK(c.was_reset());
}

TEST_CASE("HEAD gets only the head of a stream, and its writer is stopped") {
  stream_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.send("HEAD /a HTTP/1.1\r\nHost: h\r\n\r\n");
  auto stream = stage.next();
  CHECK(stage.wait_for_cancelled(1));
  stream.write("nobody reads this");
  c.get("/whole");
  CHECK(c.receive_head().has("Transfer-Encoding: chunked\r\n"));
  CHECK(c.receive().body == "whole");
}

TEST_CASE("bytes that a slow client has not read are kept in order") {
  stream_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/silent");
  auto stream = stage.next();
  std::string sent;
  for (int i = 0; i < 3000; ++i) {
    const std::string piece(1000, static_cast<char>('a' + i % 26));
    sent += piece;
    stream.write(piece);
  }
  stream.end();
  CHECK(c.receive_head().status == 200);
  std::string got;
  while (const auto piece = c.receive_chunk()) {
    if (piece->empty()) break;
    got += *piece;
  }
  CHECK(got == sent);
  c.get("/whole");
  CHECK(c.receive().body == "whole");
}

TEST_CASE("a client too far behind its stream is disconnected") {
  stream_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/silent");
  auto stream = stage.next();
  for (int i = 0; i < 100'000 && stage.cancelled() == 0; ++i) stream.write(std::string(1000, 'x'));
  CHECK(stage.wait_for_cancelled(1));
  for (int i = 0; i < 2000 && server.connections() > 0; ++i) std::this_thread::sleep_for(10ms);
  CHECK(server.connections() == 0);
}

TEST_CASE("a single piece of 20 MiB is sent") {
  stream_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/silent");
  auto stream = stage.next();
  CHECK(c.receive_head().status == 200);
  const std::string piece(20 << 20, 'x');
  std::thread reader([&] {
    CHECK(c.receive_chunk() == piece);
    CHECK(c.receive_chunk() == "");
  });
  stream.write(piece);
  stream.end();
  reader.join();
  CHECK(stage.cancelled() == 0);
}

TEST_CASE("a client that does not read its stream is disconnected") {
  stream_handler stage;
  http_server server({.write_timeout = 100ms}, stage);
  client c(server.port());
  c.get("/silent");
  auto stream = stage.next();
  stream.write(std::string(32 << 20, 'x'));
  CHECK(stage.wait_for_cancelled(1));
}

TEST_CASE("a disconnect while a stream waits for its client is noticed at once") {
  stream_handler stage;
  http_server server({.write_timeout = 1h}, stage);
  client c(server.port());
  c.get("/silent");
  auto stream = stage.next();
  stream.write(std::string(32 << 20, 'x'));
  c.half_close();  // it may still read
  std::this_thread::sleep_for(50ms);
  CHECK(stage.cancelled() == 0);
  c.disconnect();
  CHECK(stage.wait_for_cancelled(1));
}

TEST_CASE("a stream may be silent for longer than any timeout") {
  stream_handler stage;
  http_server server(
      {.idle_timeout = 20ms, .header_timeout = 20ms, .body_timeout = 20ms, .write_timeout = 20ms}, stage);
  client c(server.port());
  c.get("/a");
  auto stream = stage.next();
  CHECK(c.receive_head().status == 200);
  CHECK(c.receive_chunk() == "/a");
  std::this_thread::sleep_for(300ms);
  stream.write("still here");
  CHECK(c.receive_chunk() == "still here");
}

TEST_CASE("all streams together buffer at most the budget") {
  stream_handler stage;
  http_server server({.max_bodies_bytes = 8 << 20}, stage);
  std::vector<client> clients;
  std::vector<http_stream> streams;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back(server.port()).get("/silent");
    streams.push_back(stage.next());
    for (int k = 0; k < 7; ++k) streams.back().write(std::string(1 << 20, 'x'));
  }
  CHECK(stage.wait_for_cancelled(4));
  client small(server.port());
  small.get("/small");
  CHECK(small.receive_head().status == 200);
  CHECK(small.receive_chunk() == "/small");
}

TEST_CASE("streams are written from many threads at once") {
  stream_handler stage;
  http_server server({.threads = 2}, stage);
  std::vector<client> clients;
  std::vector<std::thread> writers;
  for (int i = 0; i < 16; ++i) {
    clients.emplace_back(server.port()).get("/a");
    writers.emplace_back([stream = stage.next()]() mutable {
      for (int k = 0; k < 500; ++k) stream.write(std::to_string(k));
      stream.end();
    });
  }
  for (auto& c : clients) {
    CHECK(c.receive_head().status == 200);
    CHECK(c.receive_chunk() == "/a");
    int right = 0;
    for (int k = 0; k < 500; ++k) right += c.receive_chunk() == std::to_string(k);
    CHECK(right == 500);
    CHECK(c.receive_chunk() == "");
  }
  for (auto& w : writers) w.join();
}

TEST_CASE("clients that disconnect during their streams affect no other client") {
  stream_handler stage;
  http_server server({.threads = 2}, stage);
  std::vector<std::thread> writers;
  for (int i = 0; i < 100; ++i) {
    client c(server.port());
    c.get("/a");
    writers.emplace_back([stream = stage.next()]() mutable {
      for (int k = 0; k < 200; ++k) stream.write(std::to_string(k));
    });
    if (i % 2 == 0) CHECK(c.receive_head().status == 200);
  }
  for (auto& w : writers) w.join();
  client c(server.port());
  c.get("/whole");
  CHECK(c.receive().body == "whole");
}

TEST_CASE("a drain waits for open streams") {
  stream_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/a");
  auto stream = stage.next();
  client idle(server.port());
  idle.get("/whole");
  CHECK(idle.receive().status == 200);
  std::thread later([&] {
    CHECK(idle.closed_within(20s));  // the drain has begun
    stream.write("last words");
    stream.end();
  });
  CHECK(server.drain(20s));
  later.join();
  CHECK(c.receive_head().status == 200);
  CHECK(c.receive_chunk() == "/a");
  CHECK(c.receive_chunk() == "last words");
  CHECK(c.receive_chunk() == "");
  CHECK(c.closed_within(20s));
  CHECK(stage.cancelled() == 0);
}

TEST_CASE("a drain that gives up cancels open streams, and a stream may outlive its server") {
  stream_handler stage;
  std::optional<http_stream> stream;
  {
    http_server server({}, stage);
    client c(server.port());
    c.get("/a");
    stream = stage.next();
    CHECK_FALSE(server.drain(20ms));
    CHECK(stage.cancelled() == 1);
  }
  stream->write("to nobody");
  stream->end();
}

}  // namespace
}  // namespace troupe
