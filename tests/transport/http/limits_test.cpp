// Resource limits of the HTTP server's clients: time, memory, connections.
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <thread>
#include <vector>

#include "tests/transport/http/raw_client.hpp"
#include "tests/transport/http/stage.hpp"
#include "transport/http/server.hpp"

namespace troupe {
namespace {

using client = http_raw_client;

TEST_CASE("a client that never finishes its header or its body is answered 408") {
  stage_handler stage;
  http_server server({.header_timeout = 100ms, .body_timeout = 100ms}, stage);
  client header(server.port());
  header.send("GET / HTTP/1.1\r\nHost:");
  CHECK(header.receive().status == 408);
  client body(server.port());
  body.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nab");
  const auto a = body.receive();
  CHECK(a.status == 408);
  CHECK(a.body == R"json({"error":"the body did not arrive in time (limits.http_body_timeout_ms)"})json");
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

TEST_CASE("a client that does not read its response is disconnected") {
  stage_handler stage;
  http_server server({.write_timeout = 100ms}, stage);
  client c(server.port());
  c.get("/big");
  for (int i = 0; i < 2000 && (stage.big < 1 || server.connections() > 0); ++i)
    std::this_thread::sleep_for(10ms);
  CHECK(stage.big == 1);
  CHECK(server.connections() == 0);
}

TEST_CASE("answers that clients do not read are bounded in memory") {
  stage_handler stage;
  http_server server({.max_bodies_bytes = 64 << 20}, stage);
  std::vector<client> clients;
  for (int i = 0; i < 8; ++i) clients.emplace_back(server.port()).get("/big");
  for (int i = 0; i < 2000 && (stage.big < 8 || server.connections() > 1); ++i)
    std::this_thread::sleep_for(10ms);
  CHECK(stage.big == 8);
  CHECK(server.connections() == 1);
}

TEST_CASE("bodies beyond the common budget are answered 503, and small ones still fit") {
  stage_handler stage;
  http_server server({.max_body_bytes = 1 << 20, .max_bodies_bytes = 2 << 20}, stage);
  const std::string head = "POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\n";
  std::vector<client> greedy;
  for (int i = 0; i < 6; ++i) {
    greedy.emplace_back(server.port()).send(head + std::string(900'000, 'x'));  // the rest never follows
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

TEST_CASE(
    "connections beyond the bound are refused with the reason up to a limit, the others are closed at once") {
  stage_handler stage;
  http_server server({.max_connections = 1}, stage);
  client first(server.port());
  first.post("/echo", "a");
  CHECK(first.receive().status == 200);
  std::vector<client> crowd;
  for (int i = 0; i < 100; ++i) crowd.emplace_back(server.port());  // none reads its answer
  CHECK(crowd.back().closed_within(1s));                            // sooner than the others' two seconds
  CHECK(server.connections() == 65);
  int told = 0;
  for (auto& c : crowd) told += c.receive().status == 503;
  CHECK(told == 64);
  first.post("/echo", "still here");
  CHECK(first.receive().status == 200);
}

TEST_CASE("a body over the limit answers 413 before it is read") {
  stage_handler stage;
  http_server server({.max_body_bytes = 1000}, stage);
  client fits(server.port());
  fits.post("/echo", std::string(1000, 'x'));
  CHECK(fits.receive().status == 200);
  client large(server.port());
  large.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1001\r\n\r\n");
  const auto a = large.receive();
  CHECK(a.status == 413);
  CHECK(a.body == R"json({"error":"the body is larger than 1000 bytes (limits.body_mb)"})json");
  CHECK(a.has("Connection: close\r\n"));
  client sends_anyway(server.port());
  sends_anyway.post("/echo", std::string(4 << 20, 'x'));
  CHECK(sends_anyway.receive().status == 413);
}

}  // namespace
}  // namespace troupe
