#include "transport/http_server.hpp"

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <vector>

#include "tests/transport/http_raw_client.hpp"

namespace troupe {
namespace {

using client = http_raw_client;

// Answers /echo at once with its body, /throw with an exception, /forget never; keeps the rest until told.
// Lets nothing pass whose header says X-Key: wrong.
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

  std::atomic<int> asked{0};  // of admit
  std::atomic<int> cancelled{0};
  std::atomic<int> big{0};

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::pair<std::string, http_reply>> kept_;
  int patience_ = 0;
};

TEST_CASE("a connection serves one request after the other") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  for (int i = 0; i < 5; ++i) {
    c.post("/echo?round=" + std::to_string(i), "body " + std::to_string(i));
    const auto a = c.receive();
    CHECK(a.status == 200);
    CHECK(a.body == "body " + std::to_string(i));
    CHECK(a.has("Content-Type: text/plain\r\n"));
    CHECK(a.has("X-Query: round=" + std::to_string(i) + "\r\n"));
  }
  CHECK(server.connections() == 1);
}

TEST_CASE("pipelined requests are answered in their order, also when the first one takes long") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/slow");
  c.post("/echo", "second");
  c.get("/slower");
  c.post("/echo", "fourth");
  CHECK(stage.answer_next() == "/slow");
  CHECK(c.receive().body == "/slow");
  CHECK(c.receive().body == "second");
  CHECK(stage.answer_next() == "/slower");
  CHECK(c.receive().body == "/slower");
  CHECK(c.receive().body == "fourth");
}

TEST_CASE("a request that arrives byte by byte is understood") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  for (char byte :
       std::string_view("POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\nabcPOST /echo HTTP/1.1\r\n"
                        "Transfer-Encoding: chunked\r\n\r\n2\r\nde\r\n1\r\nf\r\n0\r\n\r\n"))
    c.send({&byte, 1});
  CHECK(c.receive().body == "abc");
  CHECK(c.receive().body == "def");
}

TEST_CASE("a reply may come from another thread") {
  stage_handler stage;
  http_server server({.threads = 2}, stage);
  std::vector<client> clients;
  for (int i = 0; i < 32; ++i) clients.emplace_back(server.port()).get("/" + std::to_string(i));
  std::thread answers([&] {
    for (int i = 0; i < 32; ++i) stage.answer_next();
  });
  for (int i = 0; i < 32; ++i)
    CHECK(clients[static_cast<size_t>(i)].receive().body == "/" + std::to_string(i));
  answers.join();
}

TEST_CASE("a reply that is never sent answers 500") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/forget");
  const auto a = c.receive();
  CHECK(a.status == 500);
  CHECK(a.body == R"({"error":"the server lost the request without answering"})");
  c.get("/throw");
  CHECK(c.receive().status == 500);
  c.post("/echo", "the connection lives on");
  CHECK(c.receive().status == 200);
}

TEST_CASE("a client that leaves cancels its request") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/slow");
  stage.wait_for(1);
  c.hang_up();
  CHECK(stage.wait_for_cancelled(1));
  stage.answer_next();  // too late, harmless
}

TEST_CASE("a client that leaves is noticed although it had pipelined another request") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/slow");
  c.get("/slow");
  stage.wait_for(1);
  c.hang_up();
  CHECK(stage.wait_for_cancelled(1));
}

TEST_CASE("on_cancel after the client left runs at once, and never after an answer") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/slow");
  stage.answer_next();
  CHECK(c.receive().status == 200);
  c.hang_up();
  while (server.connections() > 0) std::this_thread::sleep_for(1ms);
  CHECK(stage.cancelled == 0);
}

TEST_CASE("a body over the limit answers 413 before it is read") {
  stage_handler stage;
  http_server server({.max_body_bytes = 1000}, stage);
  client fits(server.port());
  fits.post("/echo", std::string(1000, 'x'));
  CHECK(fits.receive().status == 200);
  client large(server.port());
  large.send("POST /echo HTTP/1.1\r\nContent-Length: 1001\r\n\r\n");
  const auto a = large.receive();
  CHECK(a.status == 413);
  CHECK(a.body == R"({"error":"the body is larger than the limit of 1000 bytes"})");
  CHECK(a.has("Connection: close\r\n"));
  client sends_anyway(server.port());
  sends_anyway.post("/echo", std::string(4 << 20, 'x'));
  CHECK(sends_anyway.receive().status == 413);
}

TEST_CASE("what is refused by its header is answered before its body came, and the connection closed") {
  stage_handler stage;
  http_server server({}, stage);
  for (const char* expect : {"", "Expect: 100-continue\r\n"}) {
    client c(server.port());
    c.send("POST /echo HTTP/1.1\r\nX-Key: wrong\r\nContent-Length: 60000000\r\n" + std::string(expect) +
           "\r\n");
    const auto a = c.receive();
    CHECK(a.status == 401);
    CHECK(a.body == R"({"error":"wrong key"})");
    CHECK(a.has("Connection: close\r\n"));
    CHECK(c.closed_within(20s));
  }
  client chunked(server.port());
  chunked.send("POST /echo HTTP/1.1\r\nX-Key: wrong\r\nTransfer-Encoding: chunked\r\n\r\n");
  CHECK(chunked.receive().status == 401);
  client together(server.port());  // with its header, and another request behind it
  together.send(
      "POST /echo HTTP/1.1\r\nX-Key: wrong\r\nContent-Length: 3\r\n\r\nabcGET /echo HTTP/1.1\r\n\r\n");
  CHECK(together.receive().status == 401);
  CHECK(together.receive().status == 0);
  CHECK(stage.asked == 4);
}

TEST_CASE("what is refused and has no body leaves the connection as it is") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.send("GET /echo HTTP/1.1\r\nX-Key: wrong\r\n\r\n");
  CHECK(c.receive().status == 401);
  c.send("HEAD /echo HTTP/1.1\r\nX-Key: wrong\r\n\r\nGET /tenant HTTP/1.1\r\n\r\n");
  CHECK_FALSE(c.receive_head().has("Connection: close"));
  CHECK(c.receive().body == "7");
  c.get("/admit-throws");
  CHECK(c.receive().status == 500);
  c.post("/tenant", "x");
  CHECK(c.receive().body == "7");
  CHECK(stage.asked == 5);
}

TEST_CASE("a client that asks before it sends its body is told to continue") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.send("POST /echo HTTP/1.1\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  CHECK(c.receive().status == 100);
  c.send("abc");
  CHECK(c.receive().body == "abc");
}

TEST_CASE("bytes that are not HTTP answer 400 and end the connection") {
  stage_handler stage;
  http_server server({}, stage);
  for (auto nonsense :
       {"\x16\x03\x01\x02 hello over TLS\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET\r\n\r\n",
        "GET / HTTP/1.1\r\nno colon\r\n\r\n", "POST / HTTP/1.1\r\nContent-Length: many\r\n\r\n"}) {
    CAPTURE(nonsense);
    client c(server.port());
    c.send(nonsense);
    const auto a = c.receive();
    CHECK(a.status == 400);
    CHECK(a.body.starts_with(R"({"error":"malformed HTTP request: )"));
  }
  client c(server.port());
  c.send("GET / HTTP/1.1\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
  CHECK(c.receive().status == 431);
}

TEST_CASE("a client that never finishes its header or its body is answered 408") {
  stage_handler stage;
  http_server server({.header_timeout = 100ms, .body_timeout = 100ms}, stage);
  client header(server.port());
  header.send("GET / HTTP/1.1\r\nHost:");
  CHECK(header.receive().status == 408);
  client body(server.port());
  body.send("POST /echo HTTP/1.1\r\nContent-Length: 3\r\n\r\nab");
  const auto a = body.receive();
  CHECK(a.status == 408);
  CHECK(a.body == R"({"error":"the body took too long to arrive"})");
}

TEST_CASE("an idle connection is closed, a waiting one is not") {
  stage_handler stage;
  http_server server({.idle_timeout = 1s}, stage);
  client waiting(server.port());
  waiting.get("/slow");
  client idle(server.port());
  CHECK(idle.closed_within(20s));
  stage.answer_next();
  CHECK(waiting.receive().status == 200);
}

TEST_CASE("a client that does not take its response is cut off") {
  stage_handler stage;
  http_server server({.write_timeout = 100ms}, stage);
  client c(server.port());
  c.get("/big");
  for (int i = 0; i < 2000 && server.connections() > 0; ++i) std::this_thread::sleep_for(10ms);
  CHECK(server.connections() == 0);
}

TEST_CASE("answers that nobody takes are bounded in memory") {
  stage_handler stage;
  http_server server({.max_bodies_bytes = 64 << 20}, stage);
  std::vector<client> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(server.port()).get("/big");
  for (int i = 0; i < 2000 && (stage.big < 8 || server.connections() > 1); ++i)
    std::this_thread::sleep_for(10ms);
  CHECK(stage.big == 8);
  CHECK(server.connections() == 1);
}

TEST_CASE("bodies beyond the budget of all are answered 503, small ones still find room") {
  stage_handler stage;
  http_server server({.max_body_bytes = 1 << 20, .max_bodies_bytes = 2 << 20}, stage);
  const std::string head = "POST /echo HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n";
  std::vector<client> greedy;
  for (int i = 0; i < 6; ++i) {
    greedy.emplace_back(server.port()).send(head + std::string(900'000, 'x'));  // and never the rest
    client small(server.port());
    small.post("/echo", "still served");
    CHECK(small.receive().status == 200);
  }
  int refused = 0;
  for (int i = 0; i < 400 && refused < 4; ++i) {
    const auto a = greedy[static_cast<size_t>(i) % greedy.size()].receive(50ms);
    refused += a.status == 503 && a.has("Retry-After: 1\r\n");
  }
  CHECK(refused == 4);
}

TEST_CASE("HTTP/1.0, HEAD and Connection: close are honoured") {
  stage_handler stage;
  http_server server({}, stage);
  client old(server.port());
  old.send("POST /echo HTTP/1.0\r\nContent-Length: 1\r\n\r\nx");
  CHECK(old.receive().has("Connection: close"));
  CHECK(old.closed_within(20s));
  client last(server.port());
  last.send("POST /echo HTTP/1.1\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
  CHECK(last.receive().body == "x");
  CHECK(last.closed_within(20s));
  client head(server.port());
  head.send("HEAD /tenant HTTP/1.1\r\n\r\n");
  CHECK(head.receive(300ms).status == 0);  // a length, but no body follows
}

TEST_CASE("a thousand clients are served at the same time") {
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
  stage_handler stage;
  http_server server({.threads = 2}, stage);
  std::vector<client> clients;
  for (int i = 0; i < 1000; ++i) clients.emplace_back(server.port()).get("/" + std::to_string(i));
  stage.wait_for(1000);
  CHECK(server.connections() == 1000);
  for (int i = 0; i < 1000; ++i) stage.answer_next();
  int right = 0;
  for (int i = 0; i < 1000; ++i)
    right += clients[static_cast<size_t>(i)].receive().body == "/" + std::to_string(i);
  CHECK(right == 1000);
}

TEST_CASE("connections beyond the bound are answered 503") {
  stage_handler stage;
  http_server server({.max_connections = 2}, stage);
  client a(server.port()), b(server.port());
  a.post("/echo", "a");
  b.post("/echo", "b");
  CHECK(a.receive().status == 200);
  CHECK(b.receive().status == 200);
  client c(server.port());
  const auto refused = c.receive();
  CHECK(refused.status == 503);
  CHECK(refused.has("Retry-After: 1\r\n"));
  a.post("/echo", "still here");
  CHECK(a.receive().status == 200);
}

TEST_CASE("of the connections beyond the bound only so many are told why, the others are closed at once") {
  stage_handler stage;
  http_server server({.max_connections = 1}, stage);
  client first(server.port());
  first.post("/echo", "a");
  CHECK(first.receive().status == 200);
  std::vector<client> crowd;
  for (int i = 0; i < 100; ++i) crowd.emplace_back(server.port());  // none reads what it is told
  CHECK(crowd.back().closed_within(1s));                            // sooner than the others' two seconds
  CHECK(server.connections() == 65);
  int told = 0;
  for (auto& c : crowd) told += c.receive().status == 503;
  CHECK(told == 64);
  first.post("/echo", "still here");
  CHECK(first.receive().status == 200);
}

TEST_CASE("a drain finishes what is in flight and turns newcomers away") {
  stage_handler stage;
  http_server server({}, stage);
  client idle(server.port()), busy(server.port());
  idle.post("/echo", "x");
  CHECK(idle.receive().status == 200);
  busy.get("/slow");
  stage.wait_for(1);
  std::thread later([&] {
    CHECK(idle.closed_within(20s));  // the drain has begun
    stage.answer_next();
  });
  CHECK(server.drain(20s));
  later.join();
  const auto a = busy.receive();
  CHECK(a.status == 200);
  CHECK(a.has("Connection: close\r\n"));
  CHECK_THROWS(client(server.port()));
}

TEST_CASE("a drain gives up after its timeout and cancels") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/slow");
  stage.wait_for(1);
  CHECK_FALSE(server.drain(50ms));
  CHECK(stage.cancelled == 1);
  CHECK(c.receive().status == 0);
}

TEST_CASE("a reply may outlive its server") {
  stage_handler stage;
  {
    http_server server({}, stage);
    client c(server.port());
    c.get("/slow");
    stage.wait_for(1);
  }
  CHECK(stage.cancelled == 1);
  stage.forget_all();
}

TEST_CASE("a port in use is one clear error") {
  stage_handler stage;
  http_server first({}, stage);
  const auto where = "cannot listen on 127.0.0.1:" + std::to_string(first.port());
  CHECK_THROWS_WITH_AS(
      http_server({.port = first.port()}, stage),
      (where + ": Address already in use; stop the process that listens there, or choose another port")
          .c_str(),
      http_listen_error);
  CHECK_THROWS_WITH_AS(
      http_server({.host = "nowhere"}, stage),
      "cannot listen on nowhere:0: Invalid argument; the host must be an address of this machine, "
      "such as 127.0.0.1, 0.0.0.0 or ::",
      http_listen_error);
}

}  // namespace
}  // namespace troupe
