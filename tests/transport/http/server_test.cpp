#include "transport/http/server.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <memory>
#include <thread>
#include <vector>

#include "tests/transport/http/raw_client.hpp"
#include "tests/transport/http/stage.hpp"

namespace troupe {
namespace {

using client = http_raw_client;

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

TEST_CASE("pipelined requests are answered in order, also behind a slow one") {
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

TEST_CASE("a request that arrives byte by byte is parsed") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  for (char byte : std::string_view("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc"
                                    "POST /echo HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n"
                                    "2\r\nde\r\n1\r\nf\r\n0\r\n\r\n"))
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

TEST_CASE("an answer with a deferred body is written by the server, from any sender") {
  struct writer final : response_writer {
    http_response write() override {
      at.set_value(std::this_thread::get_id());
      if (fails) throw std::bad_alloc();
      return {.headers = {}, .body = "written"};
    }
    std::promise<std::thread::id> at;
    bool fails = false;
  };
  struct keeper final : http_handler {
    void handle(http_request, http_reply reply) override {
      kept.set_value({std::this_thread::get_id(), std::make_shared<http_reply>(std::move(reply))});
    }
    std::promise<std::pair<std::thread::id, std::shared_ptr<http_reply>>> kept;
  } stage;
  http_server server({}, stage);
  client c(server.port());
  for (const bool fails : {false, true}) {
    stage.kept = {};
    c.get("/");
    const auto [server_thread, reply] = stage.kept.get_future().get();
    auto w = std::make_unique<writer>();
    w->fails = fails;
    auto written_at = w->at.get_future();
    reply->send(std::move(w));
    CHECK(written_at.get() == server_thread);
    const auto a = c.receive();
    CHECK(a.status == (fails ? 500 : 200));
    CHECK(a.body == (fails ? R"({"error":"the server could not write the answer"})" : "written"));
  }
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

TEST_CASE("a client that disconnects cancels its request") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/slow");
  stage.wait_for(1);
  c.disconnect();
  CHECK(stage.wait_for_cancelled(1));
  stage.answer_next();  // too late, harmless
}

TEST_CASE("a client that closes its sending side gets its answers") {
  stage_handler stage;
  http_server server({.half_close_timeout = 60s}, stage);
  client c(server.port());
  c.get("/slow");
  c.post("/echo", "and this");
  c.half_close();
  stage.wait_for(1);
  std::this_thread::sleep_for(50ms);
  CHECK(stage.cancelled == 0);
  stage.answer_next();
  CHECK(c.receive().status == 200);
  CHECK(c.receive().body == "and this");
  while (server.connections() > 0) std::this_thread::sleep_for(1ms);
}

TEST_CASE("a client that closes its sending side does not wait for ever") {
  stage_handler stage;
  http_server server({.half_close_timeout = 20ms}, stage);
  client c(server.port());
  c.get("/slow");
  stage.wait_for(1);
  c.half_close();
  CHECK(stage.wait_for_cancelled(1));
}

TEST_CASE("a disconnect is noticed behind a pipelined request") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/slow");
  c.get("/slow");
  stage.wait_for(1);
  c.disconnect();
  CHECK(stage.wait_for_cancelled(1));
}

TEST_CASE("on_cancel after the client left runs at once, and never after an answer") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("/slow");
  stage.answer_next();
  CHECK(c.receive().status == 200);
  c.disconnect();
  while (server.connections() > 0) std::this_thread::sleep_for(1ms);
  CHECK(stage.cancelled == 0);
}

TEST_CASE(
    "a request refused by its header is answered before its body arrives, and the connection is closed") {
  stage_handler stage;
  http_server server({}, stage);
  for (const char* expect : {"", "Expect: 100-continue\r\n"}) {
    client c(server.port());
    c.send("POST /echo HTTP/1.1\r\nHost: h\r\nX-Key: wrong\r\nContent-Length: 60000000\r\n" +
           std::string(expect) + "\r\n");
    const auto a = c.receive();
    CHECK(a.status == 401);
    CHECK(a.body == R"({"error":"wrong key"})");
    CHECK(a.has("Connection: close\r\n"));
    CHECK(c.closed_within(20s));
  }
  client chunked(server.port());
  chunked.send("POST /echo HTTP/1.1\r\nHost: h\r\nX-Key: wrong\r\nTransfer-Encoding: chunked\r\n\r\n");
  CHECK(chunked.receive().status == 401);
  client together(server.port());  // header and body in one packet, followed by another request
  together.send(
      "POST /echo HTTP/1.1\r\nHost: h\r\nX-Key: wrong\r\nContent-Length: 3\r\n\r\nabc"
      "GET /echo HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(together.receive().status == 401);
  CHECK(together.receive().status == 0);
  CHECK(stage.asked == 4);
}

TEST_CASE("a refused request without a body leaves the connection open") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.send("GET /echo HTTP/1.1\r\nHost: h\r\nX-Key: wrong\r\n\r\n");
  CHECK(c.receive().status == 401);
  c.send("HEAD /echo HTTP/1.1\r\nHost: h\r\nX-Key: wrong\r\n\r\nGET /tenant HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK_FALSE(c.receive_head().has("Connection: close"));
  CHECK(c.receive().body == "7");
  c.get("/admit-throws");
  CHECK(c.receive().status == 500);
  c.post("/tenant", "x");
  CHECK(c.receive().body == "7");
  CHECK(stage.asked == 5);
}

TEST_CASE("a client that expects 100-continue gets it before its body") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  CHECK(c.receive().status == 100);
  c.send("abc");
  CHECK(c.receive().body == "abc");
}

TEST_CASE("bytes that are not HTTP answer 400 and end the connection") {
  stage_handler stage;
  http_server server({}, stage);
  for (auto nonsense : {"\x16\x03\x01\x02 hello over TLS\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "GET\r\n\r\n",
                        "GET / HTTP/1.1\r\nHost: h\r\nno colon\r\n\r\n",
                        "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: many\r\n\r\n"}) {
    CAPTURE(nonsense);
    client c(server.port());
    c.send(nonsense);
    const auto a = c.receive();
    CHECK(a.status == 400);
    CHECK(a.body.starts_with(R"({"error":"malformed HTTP request: )"));
  }
  client c(server.port());
  c.send("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(100'000, 'x') + "\r\n\r\n");
  CHECK(c.receive().status == 431);
}

TEST_CASE("a request with an ambiguous end closes the connection, and later bytes are not served") {
  stage_handler stage;
  http_server server({}, stage);
  for (const auto& [fields, status] : {std::pair{std::string("Transfer-Encoding: gzip\r\n"), 400},
                                       {"Transfer-Encoding: gzip, chunked\r\n", 501},
                                       {"Transfer-Encoding: identity\r\nContent-Length: 0\r\n", 400}}) {
    CAPTURE(fields);
    client c(server.port());
    c.send("POST /echo HTTP/1.1\r\nHost: h\r\n" + fields + "\r\nGET /tenant HTTP/1.1\r\nHost: h\r\n\r\n");
    const auto a = c.receive();
    CHECK(a.status == status);
    CHECK(a.has("Connection: close\r\n"));
    CHECK(c.receive().status == 0);
  }
  CHECK(stage.asked == 0);
}

TEST_CASE("an absolute target is admitted and served as its path") {
  stage_handler stage;
  http_server server({}, stage);
  client c(server.port());
  c.get("http://127.0.0.1/tenant");
  CHECK(c.receive().body == "7");
  c.post("http://127.0.0.1/echo?a=b", "x");
  const auto a = c.receive();
  CHECK(a.body == "x");
  CHECK(a.has("X-Query: a=b\r\n"));
}

TEST_CASE("HTTP/1.0, HEAD and Connection: close are honoured") {
  stage_handler stage;
  http_server server({}, stage);
  client old(server.port());
  old.send("POST /echo HTTP/1.0\r\nContent-Length: 1\r\n\r\nx");
  CHECK(old.receive().has("Connection: close"));
  CHECK(old.closed_within(20s));
  client last(server.port());
  last.send("POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 1\r\nConnection: close\r\n\r\nx");
  CHECK(last.receive().body == "x");
  CHECK(last.closed_within(20s));
  client head(server.port());
  head.send("HEAD /tenant HTTP/1.1\r\nHost: h\r\n\r\n");
  CHECK(head.receive(300ms).status == 0);  // a length, but no body follows
}

TEST_CASE("a drain finishes requests in flight and refuses new ones") {
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
