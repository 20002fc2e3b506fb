#include "transport/http/router.hpp"

#include <doctest/doctest.h>

#include <mutex>

namespace troupe {
namespace {

struct recorded final : http_exchange {
  void respond(http_response r) override { response = std::move(r); }
  void on_cancel(std::function<void()>) override {}
  void begin(http_response head) override { response = std::move(head); }
  void write(std::string piece) override { response.body += piece; }
  void end(bool whole) override { broken_off = !whole; }
  http_response response;
  bool broken_off = false;
};

http_response ask(http_router& router, std::string method, std::string path) {
  http_request request{
      .method = std::move(method), .path = std::move(path), .query = {}, .headers = {}, .body = {}};
  if (auto refusal = router.admit(request)) return *refusal;
  auto exchange = std::make_shared<recorded>();
  router.handle(std::move(request), http_reply(exchange));
  return exchange->response;
}

http_router a_router() {
  http_router router;
  auto say = [](std::string what) {
    return [what](http_request, const path_parameters& p, http_reply reply) {
      reply.send({.headers = {}, .body = what + "(" + p["model"] + "," + p["version"] + ")"});
    };
  };
  router.add("GET", "/v2", say("server"));
  router.add("GET", "/v2/models/{model}", say("metadata"));
  router.add("POST", "/v2/models/{model}/infer", say("infer"));
  router.add("POST", "/v2/models/{model}/versions/{version}/infer", say("infer"));
  router.add("DELETE", "/v2/models/{model}", say("remove"));
  router.add("GET", "/v1/models/{model...}", say("card"));
  return router;
}

TEST_CASE("a route answers its method and path, with the values of its placeholders") {
  auto router = a_router();
  CHECK(ask(router, "GET", "/v2").body == "server(,)");
  CHECK(ask(router, "GET", "/v2/").body == "server(,)");
  CHECK(ask(router, "GET", "/v2/models/resnet").body == "metadata(resnet,)");
  CHECK(ask(router, "POST", "/v2/models/resnet/infer").body == "infer(resnet,)");
  CHECK(ask(router, "POST", "/v2/models/resnet/versions/3/infer").body == "infer(resnet,3)");
  CHECK(ask(router, "HEAD", "/v2/models/resnet").body == "metadata(resnet,)");
}

TEST_CASE("placeholders are percent-decoded after the path was split") {
  auto router = a_router();
  CHECK(ask(router, "GET", "/v2/models/a%2Fb%20c").body == "metadata(a/b c,)");
  CHECK(ask(router, "GET", "/v2/models/50%").body == "metadata(50%,)");
  CHECK(ask(router, "GET", "/v2/models/%zz%4").body == "metadata(%zz%4,)");
}

TEST_CASE("a placeholder with dots is the rest of the path") {
  auto router = a_router();
  CHECK(ask(router, "GET", "/v1/models/one").body == "card(one,)");
  CHECK(ask(router, "GET", "/v1/models/org/name").body == "card(org/name,)");
  CHECK(ask(router, "GET", "/v1/models/org%2Fname/").body == "card(org/name,)");
  CHECK(ask(router, "GET", "/v1/models").status == 404);
  CHECK(ask(router, "GET", "/v1/models/").status == 404);
}

TEST_CASE("an unknown path is 404, a known one with another method 405") {
  auto router = a_router();
  const auto unknown = ask(router, "GET", "/v3");
  CHECK(unknown.status == 404);
  CHECK(unknown.body == R"({"error":"no such path: /v3"})");
  CHECK(ask(router, "GET", "/v2/models//infer").status == 404);
  CHECK(ask(router, "GET", "").status == 404);
  const auto wrong = ask(router, "PUT", "/v2/models/m");
  CHECK(wrong.status == 405);
  CHECK(wrong.headers.find("allow") == "GET, DELETE");
  CHECK(wrong.body == R"({"error":"/v2/models/m does not take PUT; use GET, DELETE"})");
}

TEST_CASE("refusals of the router use the configured format") {
  auto router = a_router();
  router.set_path_refusal([](std::string_view path, unsigned status, std::string message) {
    http_response r;
    r.status = status;
    r.body = std::string(path) + " | " + message;
    return r;
  });
  const auto unknown = ask(router, "GET", "/v3");
  CHECK(unknown.status == 404);
  CHECK(unknown.body == "/v3 | no such path: /v3");
  const auto wrong = ask(router, "PUT", "/v2/models/m");
  CHECK(wrong.status == 405);
  CHECK(wrong.headers.find("allow") == "GET, DELETE");
  CHECK(wrong.body == "/v2/models/m | /v2/models/m does not take PUT; use GET, DELETE");
  const auto unread = router.refused("/v1/completions", {413, "too large"});
  CHECK(unread.status == 413);
  CHECK(unread.body == "/v1/completions | too large");
}

TEST_CASE("header names are case-insensitive") {
  const http_headers h{{"Content-Type", "a"}, {"content-type", "b"}};
  CHECK(h.find("CONTENT-TYPE") == "a");
  CHECK_FALSE(h.find("Content"));
}

TEST_CASE("error bodies are JSON for any message") {
  CHECK(http_error_response(400, "a \"quote\"\n\xff").body ==
        "{\"error\":\"a \\\"quote\\\"\\n\xEF\xBF\xBD\"}");
}

TEST_CASE("429 and 503 always have Retry-After in whole seconds, other answers never") {
  const auto retry_after = [](const http_response& r) {
    return std::string(r.headers.find("Retry-After").value_or("-"));
  };
  CHECK(retry_after(http_error_response(503, "busy")) == "1");
  CHECK(retry_after(http_error_response(429, "too many", 0s)) == "1");
  CHECK(retry_after(http_error_response(429, "too many", 2001ms)) == "3");
  CHECK(retry_after(http_error_response(504, "late", 2s)) == "-");
  CHECK(http_error_response(429, "too many", 1s, "quota").body == R"({"error":"too many","reason":"quota"})");
}

TEST_CASE("every documented status has a name") {
  for (unsigned status : {200, 400, 401, 403, 404, 405, 408, 413, 415, 429, 431, 499, 500, 501, 503, 504}) {
    CAPTURE(status);
    CHECK(http_reason(status) != "Unknown");
  }
}

TEST_CASE("a guard gets the matched route and its values, and its answer ends the request") {
  struct : http_guard {
    std::optional<http_response> refusal(std::string_view pattern, const path_parameters& path,
                                         http_request&) override {
      seen = std::string(pattern) + " " + path["model"];
      if (path["model"] != "secret") return {};
      return http_error_response(403, "no");
    }
    std::string seen;
  } guard;
  auto router = a_router();
  router.set_guard(&guard);
  CHECK(ask(router, "POST", "/v2//models/m/infer").status == 404);
  CHECK(guard.seen == "");  // not a path of ours
  CHECK(ask(router, "POST", "/v2/models/%6d/infer/").body == "infer(m,)");
  CHECK(guard.seen == "/v2/models/{model}/infer m");
  CHECK(ask(router, "GET", "/v2/models/%73ecret").status == 403);
}

}  // namespace
}  // namespace troupe
