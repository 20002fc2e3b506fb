#include "transport/openai/error.hpp"

#include "transport/openai/json_append.hpp"

namespace troupe::openai {
namespace {

// Default codes of statuses.
std::string_view code_of(const error& e) {
  if (!e.code.empty()) return e.code;
  if (e.status == 401) return "invalid_api_key";
  if (e.status == 429) return "rate_limit_exceeded";
  return {};
}

void append_or_null(std::string& out, std::string_view text) {
  if (text.empty())
    out += "null";
  else
    append_quoted(out, text);
}

}  // namespace

error model_not_found(std::string_view model) {
  return {404, "The model " + json_quote(model) + " does not exist.", "model", "model_not_found"};
}

std::string_view error_type(unsigned status) {
  switch (status) {
    case 401: return "authentication_error";
    case 403: return "permission_error";
    case 429: return "rate_limit_error";
    case 408:
    case 504: return "timeout_error";
    default: return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

std::string error_body(const error& e) {
  std::string out = R"({"error":{"message":)";
  append_quoted(out, e.message);
  out += R"(,"type":)";
  append_quoted(out, error_type(e.status));
  out += R"(,"param":)";
  append_or_null(out, e.param);
  out += R"(,"code":)";
  append_or_null(out, code_of(e));
  return out += "}}";
}

http_response error_response(const error& e, duration retry_after) {
  auto r = http_error_response(e.status, {}, retry_after);  // for its headers
  r.body = error_body(e);
  return r;
}

http_response path_error(std::string_view path, unsigned status, std::string message) {
  const bool ours = path.starts_with("/v1/") || path == "/tokenize" || path == "/detokenize";
  if (!ours) return http_error_response(status, message);
  return error_response({status, std::move(message), {}, status == 401 ? "invalid_api_key" : ""});
}

}  // namespace troupe::openai
