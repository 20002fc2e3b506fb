#include "transport/http_response_text.hpp"

#include <fmt/format.h>

#include <iterator>

namespace troupe {
namespace {

constexpr size_t worth_compressing = 1024;  // about what one packet takes anyway

}  // namespace

std::string http_response_text(http_response response, const http_received& to, bool keep) {
  if (to.answer_coding != http_coding::identity && response.body.size() >= worth_compressing) {
    response.body = deflated(response.body, to.answer_coding);
    response.headers.add("Content-Encoding", std::string(to_string(to.answer_coding)));
    response.headers.add("Vary", "Accept-Encoding");
  }
  std::string text;
  text.reserve(256 + response.body.size());
  auto out = std::back_inserter(text);
  fmt::format_to(out, "HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", response.status,
                 http_reason(response.status), response.content_type, response.body.size());
  for (const auto& [name, value] : response.headers) fmt::format_to(out, "{}: {}\r\n", name, value);
  if (!keep) text += "Connection: close\r\n";
  if (keep && to.http_1_0) text += "Connection: keep-alive\r\n";
  text += "\r\n";
  if (!to.head) text += response.body;
  return text;
}

}  // namespace troupe
