#include "transport/http/coding.hpp"

#include <doctest/doctest.h>

#include <random>

namespace troupe {
namespace {

http_result<std::string> inflate_all(std::string_view bytes, http_coding coding, uint64_t max = 1 << 20) {
  return inflated(bytes, coding, max, [](uint64_t) { return true; });
}

TEST_CASE("deflated bytes inflate to the same bytes, in both codings and any size") {
  std::mt19937_64 random(3);
  for (auto coding : {http_coding::gzip, http_coding::deflate})
    for (size_t size : {0, 1, 1000, 16'384, 16'385, 100'000, 1'000'000}) {
      std::string text(size, '\0');
      for (auto& c : text) c = static_cast<char>('a' + random() % 7);
      const auto small = deflated(text, coding);
      if (size > 1000) CHECK(small.size() < size / 2);
      const auto back = inflate_all(small, coding);
      REQUIRE(back);
      CHECK(*back == text);
    }
}

TEST_CASE("output of gzip and zlib is accepted") {
  using namespace std::string_literals;
  CHECK(*inflate_all(
            "\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xab\xae\x05\x00\x43\xbf\xa6\xa3\x02\x00\x00\x00"s,
            http_coding::gzip) == "{}");
  CHECK(*inflate_all("\x78\x9c\xab\xae\x05\x00\x01\x75\x00\xf9"s, http_coding::deflate) == "{}");
}

TEST_CASE("a decompression bomb is inflated neither beyond the bound nor beyond the budget") {
  const auto bomb = deflated(std::string(64 << 20, 'x'), http_coding::gzip);
  CHECK(bomb.size() < 1 << 20);
  const auto too_large = inflate_all(bomb, http_coding::gzip, 1'000'000);
  REQUIRE_FALSE(too_large);
  CHECK(too_large.error() ==
        http_error{413, "the body inflates to more than 1000000 bytes (limits.body_mb)"});
  CHECK(inflate_all(bomb, http_coding::gzip, 64 << 20));
  CHECK_FALSE(inflate_all(bomb, http_coding::gzip, (64 << 20) - 1));
  uint64_t peak = 0;
  const auto refused = inflated(bomb, http_coding::gzip, 64 << 20, [&](uint64_t n) {
    peak = n;
    return n <= 100'000;
  });
  REQUIRE_FALSE(refused);
  CHECK(refused.error().status == 503);
  CHECK(peak <= 200'000);
}

TEST_CASE("a buffer that cannot double grows by less") {
  const std::string text(100'000, 'x');
  const auto small = deflated(text, http_coding::gzip);
  uint64_t peak = 0;
  const auto back = inflated(small, http_coding::gzip, 1 << 20, [&](uint64_t n) {
    if (n <= 110'000) peak = n;
    return n <= 110'000;
  });
  REQUIRE(back);
  CHECK(*back == text);
  CHECK(peak > 100'000);
  const auto exact =
      inflated(small, http_coding::gzip, text.size(), [&](uint64_t n) { return n <= text.size(); });
  REQUIRE(exact);  // it never requests the byte that would show that there is more
  CHECK(exact->size() == text.size());
}

TEST_CASE("bytes that do not match their coding are refused") {
  const auto good = deflated(std::string(1000, 'x'), http_coding::gzip);
  CHECK(inflate_all("no gzip", http_coding::gzip).error().message ==
        "the body is not gzip: incorrect header check");
  CHECK(inflate_all("", http_coding::gzip).error().message == "the body is not gzip: it ends too early");
  CHECK(inflate_all(good.substr(0, good.size() - 1), http_coding::gzip).error().message ==
        "the body is not gzip: it ends too early");
  CHECK(inflate_all(good + "x", http_coding::gzip).error().message ==
        "the body is not gzip: bytes follow its end");
  CHECK(inflate_all(good, http_coding::deflate).error().status == 400);
}

TEST_CASE("only supported codings are accepted, and the preferred one is used") {
  CHECK(*parse_http_coding("gzip") == http_coding::gzip);
  CHECK(*parse_http_coding(" Deflate ") == http_coding::deflate);
  CHECK(*parse_http_coding("identity") == http_coding::identity);
  for (auto other : {"br", "gzip, gzip", "zstd"}) {
    REQUIRE_FALSE(parse_http_coding(other));
    CHECK(parse_http_coding(other).error().status == 415);
  }
  CHECK(preferred_coding("gzip, deflate, br") == http_coding::gzip);
  CHECK(preferred_coding("deflate, gzip") == http_coding::gzip);
  CHECK(preferred_coding("deflate;q=1.0, gzip;q=0.5") == http_coding::deflate);
  CHECK(preferred_coding("gzip;q=0, deflate") == http_coding::deflate);
  CHECK(preferred_coding("gzip;q=0") == http_coding::identity);
  CHECK(preferred_coding("br") == http_coding::identity);
  CHECK(preferred_coding("*") == http_coding::gzip);
  CHECK(preferred_coding("") == http_coding::identity);
  CHECK(preferred_coding(",;,q=,;q=") == http_coding::identity);
}

}  // namespace
}  // namespace troupe
