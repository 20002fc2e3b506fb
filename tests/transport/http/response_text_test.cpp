#include "transport/http/response_text.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace troupe;

namespace {

std::string text_of(size_t body_bytes, http_coding accepted, bool compressible = true) {
  http_received to;
  to.answer_coding = accepted;
  http_response r;
  r.body = std::string(body_bytes, 'a');
  r.compressible = compressible;
  return http_response_text(std::move(r), to, true);
}

bool is_gzip(const std::string& text) { return text.find("Content-Encoding: gzip\r\n") != std::string::npos; }

}  // namespace

TEST_CASE("response text: a large body is compressed for a client that accepts it") {
  CHECK(is_gzip(text_of(1024, http_coding::gzip)));
  CHECK(text_of(4096, http_coding::gzip).size() < 512);
  CHECK_FALSE(is_gzip(text_of(1023, http_coding::gzip)));
  CHECK_FALSE(is_gzip(text_of(4096, http_coding::identity)));
}

TEST_CASE("response text: a body that clients do not inflate is never compressed") {
  const auto text = text_of(4096, http_coding::gzip, false);
  CHECK_FALSE(is_gzip(text));
  CHECK(text.ends_with(std::string(4096, 'a')));
}
