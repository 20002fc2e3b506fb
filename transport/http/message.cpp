#include "transport/http/message.hpp"

#include <algorithm>

#include "messages/common/json_text.hpp"

namespace troupe {
namespace {

bool same_name(std::string_view a, std::string_view b) {
  auto lower = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::ranges::equal(a, b, {}, lower, lower);
}

}  // namespace

std::optional<std::string_view> http_headers::find(std::string_view name) const {
  for (const auto& [key, value] : fields_)
    if (same_name(key, name)) return value;
  return {};
}

std::string_view http_reason(unsigned status) {
  switch (status) {
    case 200: return "OK";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 408: return "Request Timeout";
    case 413: return "Payload Too Large";
    case 415: return "Unsupported Media Type";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 499: return "Client Closed Request";  // nginx's
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    default: return "Unknown";
  }
}

std::string json_quote(std::string_view text) { return json_text(nlohmann::json(text)); }

http_response http_error_response(unsigned status, std::string_view message, duration retry_after,
                                  std::string_view reason) {
  http_response r{.status = status, .headers = {}, .body = "{\"error\":" + json_quote(message)};
  if (!reason.empty()) r.body += ",\"reason\":" + json_quote(reason);
  r.body += '}';
  if (status == 429 || status == 503)
    r.headers.add("Retry-After", std::to_string(std::max<int64_t>(1, (retry_after + 1s - 1ns) / 1s)));
  return r;
}

http_response written_by(response_writer& writer) {
  try {
    return writer.write();
  } catch (...) {  // usually out of memory
    return http_error_response(500, "the server could not write the answer");
  }
}

http_reply::~http_reply() {
  if (exchange_)
    exchange_->respond(http_error_response(500, "the server lost the request without answering"));
}

void http_reply::send(http_response response) {
  if (auto exchange = std::move(exchange_)) exchange->respond(std::move(response));
}

void http_reply::send(std::unique_ptr<response_writer> writer) {
  if (auto exchange = std::move(exchange_)) exchange->respond_with(std::move(writer));
}

http_stream http_reply::begin(http_response head) {
  auto exchange = std::move(exchange_);
  if (exchange) exchange->begin(std::move(head));
  return http_stream(std::move(exchange));
}

void http_reply::on_cancel(std::function<void()> call) {
  if (exchange_) exchange_->on_cancel(std::move(call));
}

http_stream::~http_stream() {
  if (exchange_) exchange_->end(false);
}

void http_stream::write(std::string piece) {
  if (exchange_) exchange_->write(std::move(piece));
}

void http_stream::end() {
  if (auto exchange = std::move(exchange_)) exchange->end(true);
}

}  // namespace troupe
