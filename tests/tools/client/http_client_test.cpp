#include "tools/client/http_client.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "messages/common/host_port.hpp"
#include "transport/http/server.hpp"

namespace troupe {
namespace {

/// Echoes the body; keeps the replies to /keep.
class echo_handler final : public http_handler {
 public:
  void handle(http_request request, http_reply reply) override {
    if (request.path == "/keep") {
      std::lock_guard lock(mutex_);
      kept_.push_back(std::move(reply));
      return;
    }
    reply.send({.status = request.path == "/teapot" ? 418u : 200u,
                .content_type = "text/plain",
                .headers = {{"X-Query", request.query},
                            {"X-Host", std::string(request.headers.find("Host").value_or(""))}},
                .body = request.method + " " + request.body});
  }

 private:
  std::mutex mutex_;
  std::vector<http_reply> kept_;
};

http_request post(std::string path, std::string body) {
  return {.method = "POST", .path = std::move(path), .query = "a=b", .headers = {}, .body = std::move(body)};
}

TEST_CASE("a client reuses one connection as long as one is enough") {
  echo_handler handler;
  http_server server({}, handler);
  http_client client({.host = "localhost", .port = server.port()});
  for (int i = 0; i < 20; ++i) {
    const auto o = client.fetch(post("/", std::string(static_cast<size_t>(i) * 10'000, 'x')));
    REQUIRE(o.answered());
    CHECK(o.response.status == 200);
    CHECK(o.response.body.size() == 5 + static_cast<size_t>(i) * 10'000);
    CHECK(o.response.content_type == "text/plain");
    CHECK(o.response.headers.find("x-query") == "a=b");
  }
  CHECK(client.fetch(post("/teapot", "")).response.status == 418);
  CHECK(client.fetch({.method = "HEAD", .query = {}, .headers = {}, .body = {}}).response.status == 200);
  CHECK(client.fetch({.query = {}, .headers = {}, .body = {}}).response.body == "GET ");
  CHECK(server.connections() == 1);
}

TEST_CASE("a client names an IPv6 host in brackets") {
  echo_handler handler;
  std::optional<http_server> server;
  try {
    server.emplace(http_server_options{.host = "::1"}, handler);
  } catch (const http_listen_error&) {
    return;  // this machine has no IPv6
  }
  http_client client({.host = "::1", .port = server->port()});
  const auto o = client.fetch(post("/", ""));
  REQUIRE(o.answered());
  CHECK(o.response.headers.find("X-Host") == "[::1]:" + std::to_string(server->port()));
}

TEST_CASE("many requests are in flight, up to the bound") {
  echo_handler handler;
  http_server server({}, handler);
  std::atomic<int> refused{0}, ended{0};
  {
    http_client client({.host = "127.0.0.1", .port = server.port(), .max_connections = 10});
    for (int i = 0; i < 12; ++i)
      client.send(post("/keep", ""), [&](http_outcome o) {
        refused += o.error == "all 10 connections are busy";
        ++ended;
      });
    while (server.connections() < 10 || refused < 2) std::this_thread::sleep_for(1ms);
    CHECK(ended == 2);
  }
  CHECK(ended == 12);  // the client's destructor ends its requests in flight
  CHECK(refused == 2);
}

TEST_CASE("an unreachable or silent server is an error that names the reason") {
  http_client nobody({.host = "127.0.0.1", .port = 1});
  CHECK(nobody.fetch(post("/", "")).error == "cannot connect (127.0.0.1:1): Connection refused");
  echo_handler handler;
  http_server server({}, handler);
  http_client hasty({.host = "127.0.0.1", .port = server.port(), .timeout = 500ms});
  CHECK(hasty.fetch(post("/keep", "")).error ==
        "no answer (127.0.0.1:" + std::to_string(server.port()) + "): timed out");
}

TEST_CASE("a connection that the server closed is not used again") {
  echo_handler handler;
  http_server server({.idle_timeout = 500ms}, handler);
  http_client client({.host = "127.0.0.1", .port = server.port()});
  for (int i = 0; i < 3; ++i) {
    CHECK(client.fetch(post("/", "x")).answered());
    while (server.connections() > 0) std::this_thread::sleep_for(1ms);
  }
}

TEST_CASE("URLs") {
  const auto u = parse_http_url("http://host:8000/v2");
  REQUIRE(u);
  CHECK(u->host == "host");
  CHECK(u->port == 8000);
  CHECK(u->path == "/v2");
  CHECK(parse_http_url("host")->port == 80);
  CHECK(parse_http_url("http://[::1]:81")->host == "::1");
  CHECK(parse_http_url("http://[::1]:81")->port == 81);
  for (const auto* host : {"::1", "127.0.0.1", "gpu-7.example"}) {
    const auto back = parse_http_url("http://" + host_port(host, 8080) + "/v2");
    REQUIRE(back);
    CHECK(back->host == host);
    CHECK(back->port == 8080);
  }
  for (auto bad : {"", "http://", "http://::1:8080", "http://:80", "host:", "host:x", "host:0", "host:70000",
                   "https://host:1"})
    CHECK_FALSE_MESSAGE(parse_http_url(bad), bad);
}

}  // namespace
}  // namespace troupe
