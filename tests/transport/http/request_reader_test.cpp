#include "transport/http/request_reader.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <vector>

namespace troupe {
namespace {

using reader_stage = http_request_reader::stage;

struct answer {
  std::vector<http_received> requests;
  http_response refusal{.status = 0, .headers = {}, .body = {}};
  std::string refused_path;
};

/// Feeds `bytes` in pieces of size `piece`, like a connection.
answer read(std::string_view bytes, size_t piece, http_reader_limits limits = {},
            uint64_t budget_bytes = 1 << 20) {
  body_budget budget(budget_bytes);
  answer a;
  {
    http_request_reader reader(limits, budget);
    std::string buffer;
    for (size_t at = 0; at < bytes.size(); at += piece) {
      buffer += bytes.substr(at, piece);
      for (size_t used = 1; used > 0 && !buffer.empty();) {
        used = reader.put(buffer);
        buffer.erase(0, used);
        if (reader.where() == reader_stage::refused) {
          a.refusal = http_error_response(reader.refusal().status, reader.refusal().message);
          a.refused_path = reader.head().path;
          return a;
        }
        if (reader.where() == reader_stage::complete) {
          a.requests.push_back(reader.take());
          used = 1;
        }
      }
    }
    for (auto& r : a.requests) r.share.reset();
  }
  CHECK(budget.in_use() == 0);
  return a;
}

unsigned refused(std::string_view bytes, http_reader_limits limits = {}) {
  const auto whole = read(bytes, bytes.size(), limits).refusal.status;
  CHECK(read(bytes, 1, limits).refusal.status == whole);
  return whole;
}

TEST_CASE("requests are parsed from a stream for any split into pieces") {
  const std::string_view stream =
      "POST /a/b?c=d HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\nAccept-Encoding: gzip\r\n\r\nhello"
      "GET / HTTP/1.0\r\n\r\n"
      "POST /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: "
      "close\r\n\r\n3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"
      "HEAD /d HTTP/1.1\r\nHost: h\r\n\r\n";
  for (size_t piece : {1, 2, 3, 7, 50, 1000}) {
    CAPTURE(piece);
    const auto a = read(stream, piece);
    CHECK(a.refusal.status == 0);
    REQUIRE(a.requests.size() == 4);
    const auto& first = a.requests[0];
    CHECK(first.request.method == "POST");
    CHECK(first.request.path == "/a/b");
    CHECK(first.request.query == "c=d");
    CHECK(first.request.body == "hello");
    CHECK(first.request.headers.find("host") == "h");
    CHECK(first.keep_alive);
    CHECK(first.answer_coding == http_coding::gzip);
    CHECK(a.requests[1].http_1_0);
    CHECK_FALSE(a.requests[1].keep_alive);
    CHECK(a.requests[2].request.body == "abcde");
    CHECK_FALSE(a.requests[2].keep_alive);
    CHECK(a.requests[3].head);
  }
}

// Beast 1.74 asserts that the end of a chunked body does not begin with fewer than five bytes.
TEST_CASE("an empty chunked body may arrive byte by byte") {
  const auto a = read(
      "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
      "GET /next HTTP/1.1\r\nHost: h\r\n\r\n",
      1);
  REQUIRE(a.requests.size() == 2);
  CHECK(a.requests[0].request.body.empty());
  CHECK(a.requests[1].request.path == "/next");
}

TEST_CASE("a compressed body is inflated before its handler runs") {
  for (auto coding : {http_coding::gzip, http_coding::deflate}) {
    const auto body = deflated(std::string(5000, 'x'), coding);
    const auto head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: " + std::string(to_string(coding)) +
                      "\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n";
    CHECK(read(head + body, 10).requests.at(0).request.body == std::string(5000, 'x'));
    CHECK(refused(head + body, {.body_bytes = 4999}) == 413);
    CHECK(refused(head + std::string(body.size(), 'x')) == 400);
  }
  CHECK(refused("POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx") == 415);
}

TEST_CASE("a compressed body of the largest size fits into four times its size, and never into two") {
  constexpr uint64_t limit = 300'000;
  std::string text(limit, '\0');
  for (uint64_t i = 0, state = 1; i < limit / 8 * 7; ++i) {  // hardly compressible
    state = state * 6364136223846793005u + 1442695040888963407u;
    text[i] = static_cast<char>(state >> 56);
  }
  const auto body = deflated(text, http_coding::gzip);
  REQUIRE(body.size() > limit / 8 * 7);
  REQUIRE(body.size() <= limit);
  const std::string head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\n";
  const auto chunk = fmt::format("{:x}\r\n", body.size());
  for (const auto& stream : {head + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body,
                             head + "Transfer-Encoding: chunked\r\n\r\n" + chunk + body + "\r\n0\r\n\r\n"}) {
    const auto fits = read(stream, 1000, {.body_bytes = limit}, 4 * limit);
    REQUIRE(fits.requests.size() == 1);
    CHECK(fits.requests[0].request.body == text);
    const auto never_fits = read(stream, 1000, {.body_bytes = limit}, 2 * limit);
    CHECK(never_fits.refusal.status == 413);
    CHECK(never_fits.refusal.body.find("http_bodies_mb") != std::string::npos);
  }
}

TEST_CASE("a body that inflates while others hold the memory is refused for now") {
  const auto body = deflated(std::string(200'000, 'x'), http_coding::gzip);
  body_budget budget(1 << 20);
  body_share others(budget);
  REQUIRE(others.grow_alone(900'000));
  http_request_reader reader({}, budget);
  const auto stream = "POST / HTTP/1.1\r\nHost: h\r\nContent-Encoding: gzip\r\nContent-Length: " +
                      std::to_string(body.size()) + "\r\n\r\n" + body;
  std::string_view rest = stream;
  while (!rest.empty() && reader.where() != reader_stage::refused) rest.remove_prefix(reader.put(rest));
  CHECK(reader.refusal().status == 503);
}

TEST_CASE("an oversized body, header or target is refused with its own status") {
  CHECK(refused("GET / HTTP/1.1\r\nHost: h\r\nX: " + std::string(2000, 'x') + "\r\n\r\n",
                {.header_bytes = 1000}) == 431);
  CHECK(refused("GET /" + std::string(2000, 'x'), {.header_bytes = 1000}) == 431);
  CHECK(refused("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n", {.body_bytes = 10}) == 413);
  const std::string chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n";
  CHECK(refused(chunked + "6\r\n123456\r\n6\r\n123456\r\n0\r\n\r\n", {.body_bytes = 10}) == 413);
  CHECK(refused(chunked + "ffffffffffffffff\r\n", {.body_bytes = 10}) != 0);
  CHECK(refused(chunked + "1;" + std::string(2000, 'x'), {.header_bytes = 1000}) == 431);
  CHECK(refused(chunked + "0\r\nTrailer: " + std::string(2000, 'x'), {.header_bytes = 1000}) == 431);
}

TEST_CASE("empty lines before a request are ignored") {
  for (const size_t piece : {1, 3, 1000}) {
    const auto a =
        read("\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n\r\n\n\r\nGET /b HTTP/1.1\r\nHost: h\r\n\r\n", piece);
    REQUIRE(a.requests.size() == 2);
    CHECK(a.requests[0].request.path == "/a");
    CHECK(a.requests[1].request.path == "/b");
    CHECK(a.refusal.status == 0);
  }
}

TEST_CASE("a refused request has its path, as far as it was read") {
  const auto path_of = [](std::string_view bytes) {
    const auto a = read(bytes, bytes.size(), {.header_bytes = 200, .body_bytes = 10});
    CHECK(a.refusal.status >= 400);
    return a.refused_path;
  };
  const std::string long_header = "X: " + std::string(300, 'x') + "\r\n";
  CHECK(path_of("POST /v1/chat/completions?a=b HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\n") ==
        "/v1/chat/completions");
  CHECK(path_of("POST /v1/completions HTTP/1.1\r\nHost: h\r\n" + long_header + "\r\n") == "/v1/completions");
  CHECK(path_of("POST /v1/x HTTP/1.1\r\nHost: h\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx") ==
        "/v1/x");
  CHECK(path_of("nonsense\r\n\r\n") == "");
}

TEST_CASE("ambiguous requests are refused") {
  CHECK(refused("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nContent-Length: 4\r\n\r\nabcd") == 400);
  CHECK(refused("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: +3\r\n\r\nabc") == 400);
  CHECK(refused("GET / HTTP/1.1\r\n folded: x\r\nHost: h\r\n\r\n") == 400);
  CHECK(refused("GET / HTTP/1.1\r\nHost: h\r\nA : x\r\n\r\n") == 400);
  CHECK(refused("GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer a\r\nauthorization: Bearer b\r\n\r\n") ==
        400);
}

// RFC 9112, 6.1 and 6.3.
TEST_CASE("a body is never parsed as the next request, for any Transfer-Encoding") {
  const std::string_view next = "0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n";
  for (const auto& [fields, status] : {
           std::pair{std::string("Transfer-Encoding: gzip\r\n"), 400u},
           {"Transfer-Encoding: identity\r\n", 400},
           {"Transfer-Encoding: xchunked\r\n", 400},
           {"Transfer-Encoding: chunked, identity\r\n", 400},
           {"Transfer-Encoding: chunked;q=1\r\n", 400},
           {"Transfer-Encoding:\r\n", 400},
           {"Transfer-Encoding: gzip, chunked\r\n", 501},
           {"transfer-encoding: GZIP,\tChunked\r\n", 501},
           {"Transfer-Encoding: gzip\r\nX: y\r\nTransfer-Encoding: chunked\r\n", 501},
           {"Transfer-Encoding: chunked\r\nTransfer-Encoding: gzip\r\n", 400},
           {"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", 400},
           {"Transfer-Encoding: gzip\r\nContent-Length: 5\r\n", 400},
           {"Content-Length: 5\r\nTransfer-Encoding: gzip\r\n", 400},
           {"Transfer-Encoding: gzip, chunked\r\nContent-Length: 5\r\n", 400},
           {"Transfer-Encoding: chunked, chunked\r\nContent-Length: 5\r\n", 400},
           {"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", 400},
           {"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n", 400},
       })
    for (size_t piece : {1, 1000}) {
      CAPTURE(fields);
      const auto a = read("POST / HTTP/1.1\r\nHost: h\r\n" + fields + "\r\n" + std::string(next), piece);
      CHECK(a.requests.empty());
      CHECK(a.refusal.status == status);
    }
  CHECK(refused("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == 400);
  CHECK(refused("GET / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: gzip\r\n\r\n") == 400);

  const auto a =
      read("POST /a HTTP/1.1\r\nHost: h\r\ntransfer-encoding: \tCHUNKED \r\n\r\n" + std::string(next), 1);
  REQUIRE(a.requests.size() == 2);
  CHECK(a.requests[0].request.path == "/a");
  CHECK(a.requests[1].request.path == "/smuggled");
}

TEST_CASE("a refused transfer coding is named, with the supported one") {
  const auto told = [](std::string_view codings) {
    return read("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: " + std::string(codings) + "\r\n\r\n", 1000)
        .refusal.body;
  };
  CHECK(told("gzip") ==
        R"({"error":"Transfer-Encoding is \"gzip\", which does not end with chunked, so the end of the )"
        R"(body is unknown; send chunked, or Content-Length"})");
  CHECK(told("gzip, chunked") ==
        R"({"error":"Transfer-Encoding is \"gzip, chunked\", but only chunked is implemented; send that )"
        R"(alone, with Content-Encoding if the body is compressed"})");
}

// RFC 9112, 3.2.
TEST_CASE("a request names one host, as HTTP/1.1 needs it and HTTP/1.0 does not") {
  CHECK(refused("GET / HTTP/1.1\r\n\r\n") == 400);
  CHECK(refused("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc") == 400);
  CHECK(read("GET / HTTP/1.1\r\n\r\n", 100).refusal.body ==
        R"({"error":"the Host header is missing; send \"Host:\" with the name of this server"})");
  CHECK(refused("GET / HTTP/1.1\r\nHost: a\r\nX: y\r\nhost: a\r\n\r\n") == 400);
  CHECK(refused("GET / HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n") == 400);
  for (auto host : {"a b", "a/b", "user@a", "a#b", "\xc3\xa4"})
    CHECK(refused("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n") == 400);
  for (auto host : {"", "a", "a_b.example:8000", "127.0.0.1", "[::1]:80"})
    CHECK(read("GET / HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n", 7).requests.size() == 1);
  CHECK(read("GET / HTTP/1.0\r\n\r\n", 7).requests.size() == 1);
}

// RFC 9112, 3.2.2.
TEST_CASE("an absolute target, as sent to proxies, is served as its path") {
  const auto got = [](std::string_view target) {
    return read("GET " + std::string(target) + " HTTP/1.1\r\nHost: h\r\n\r\n", 1000).requests.at(0).request;
  };
  for (auto target : {"http://host/v2/models?a=http://b/c", "HTTPS://host:443/v2/models?a=http://b/c"}) {
    CHECK(got(target).path == "/v2/models");
    CHECK(got(target).query == "a=http://b/c");
  }
  CHECK(got("http://other:80/").headers.find("Host") == "other:80");
  CHECK(got("/").headers.find("Host") == "h");
  CHECK(got("http://host").path == "/");
  CHECK(got("http://host?a=b").path == "/");
  CHECK(got("http://host?a=b").query == "a=b");
  CHECK(got("/http://host/v2").path == "/http://host/v2");
  CHECK(refused("GET http:///v2 HTTP/1.1\r\nHost: h\r\n\r\n") == 400);
  CHECK(refused("GET http://user@host/v2 HTTP/1.1\r\nHost: h\r\n\r\n") == 400);
  CHECK(refused("GET http://host/v2 HTTP/1.1\r\n\r\n") == 400);
}

TEST_CASE("a header is available before the first byte of the body is read") {
  body_budget budget(1 << 20);
  http_request_reader reader({}, budget);
  const std::string_view head = "POST /a HTTP/1.1\r\nHost: h\r\nX: y\r\nContent-Length: 3\r\n\r\n";
  CHECK(reader.put(std::string(head) + "abc") == head.size());
  CHECK(reader.where() == reader_stage::body);
  CHECK(reader.head().path == "/a");
  CHECK(reader.head().headers.find("x") == "y");
  CHECK(budget.in_use() == 0);
  reader.head().tenant = 5;
  CHECK(reader.put("abc") == 3);
  CHECK(reader.where() == reader_stage::complete);
  const auto got = reader.take();
  CHECK(got.request.body == "abc");
  CHECK(got.request.tenant == 5);
  CHECK(reader.put("GET /b HTTP/1.1\r\nHost: h\r\n\r\n") > 0);
  CHECK(reader.head().tenant == 0);
}

TEST_CASE("GET and HEAD take no body") {
  CHECK(refused("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc") == 400);
  CHECK(refused("HEAD / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n") == 400);
  CHECK(read("GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n", 7).requests.size() == 1);
}

TEST_CASE("a body takes memory as it arrives, not as it is announced") {
  body_budget budget(10 << 20);
  http_request_reader reader({}, budget);
  std::string_view head = "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 4000000\r\n\r\n";
  CHECK(reader.put(head) == head.size());
  CHECK(reader.where() == reader_stage::body);
  CHECK(budget.in_use() == 0);
  CHECK(reader.put(std::string(1000, 'x')) == 1000);
  CHECK(budget.in_use() <= 8192);
}

TEST_CASE("a body without room is refused, and accepted on a later try") {
  const auto body = std::string(10'000, 'x');
  const auto a = read("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000\r\n\r\n" + body, 100, {}, 15'000);
  CHECK(a.refusal.status == 503);
  CHECK(a.refusal.headers.find("Retry-After") == "1");
  CHECK(read("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 10000\r\n\r\n" + body, 100, {}, 20'000)
            .requests.size() == 1);
}

TEST_CASE("a client that expects 100-continue is reported once") {
  body_budget budget(1 << 20);
  http_request_reader reader({}, budget);
  reader.put("POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\nExpect: 100-Continue\r\n\r\n");
  CHECK(reader.where() == reader_stage::body);
  CHECK(reader.continue_expected());
  CHECK_FALSE(reader.continue_expected());
}

}  // namespace
}  // namespace troupe
