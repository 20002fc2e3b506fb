#include "transport/http/response_text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace troupe {
namespace {

constexpr size_t worth_compressing = 1024;  // about one packet

/// `length`: the header field that delimits the body.
void append_head(std::string& text, const http_response& response, std::string_view length,
                 const http_received& to, bool keep) {
  auto out = std::back_inserter(text);
  fmt::format_to(out, "HTTP/1.1 {} {}\r\nContent-Type: {}\r\n{}", response.status,
                 http_reason(response.status), response.content_type, length);
  for (const auto& [name, value] : response.headers) fmt::format_to(out, "{}: {}\r\n", name, value);
  if (!keep) text += "Connection: close\r\n";
  if (keep && to.http_1_0) text += "Connection: keep-alive\r\n";
  text += "\r\n";
}

}  // namespace

std::string http_response_text(http_response response, const http_received& to, bool keep) {
  if (to.answer_coding != http_coding::identity && response.compressible &&
      response.body.size() >= worth_compressing) {
    response.body = deflated(response.body, to.answer_coding);
    response.headers.add("Content-Encoding", std::string(to_string(to.answer_coding)));
    response.headers.add("Vary", "Accept-Encoding");
  }
  std::string text;
  text.reserve(256 + response.body.size());
  append_head(text, response, fmt::format("Content-Length: {}\r\n", response.body.size()), to, keep);
  if (!to.head) text += response.body;
  return text;
}

std::string http_stream_head_text(const http_response& head, const http_received& to, bool keep) {
  std::string text;
  append_head(text, head, to.http_1_0 ? "" : "Transfer-Encoding: chunked\r\n", to, keep);
  return text;
}

}  // namespace troupe
