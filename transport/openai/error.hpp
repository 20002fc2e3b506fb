// Errors in OpenAI's form: {"error": {"message", "type", "param", "code"}}.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "messages/common/time.hpp"
#include "transport/http/message.hpp"

namespace troupe::openai {

struct error {
  unsigned status = 400;
  std::string message;  ///< for the client: names the place and the fix
  std::string param;    ///< the offending field of the body; empty: null
  std::string code;     ///< for programs: "model_not_found", ...; empty: that of the status, or null
  bool operator==(const error&) const = default;
};

/// 404, in OpenAI's wording.
error model_not_found(std::string_view model);

/// OpenAI's type of an error: 400 and similar invalid_request_error, 401 authentication_error, 403
/// permission_error, 429 rate_limit_error, 408 and 504 timeout_error, other 5xx server_error.
std::string_view error_type(unsigned status);

/// {"error": {...}}
std::string error_body(const error& e);

/// 429 and 503 carry Retry-After, `retry_after` in whole seconds, at least one.
http_response error_response(const error& e, duration retry_after = 1s);

/// An error that no handler produced: in OpenAI's form if the path is of its API, else as
/// http_error_response.
http_response path_error(std::string_view path, unsigned status, std::string message);

/// A value or an error.
template <class T>
class result {
 public:
  result(T value) : content_(std::move(value)) {}
  result(openai::error e) : content_(std::move(e)) {}

  explicit operator bool() const { return content_.index() == 0; }
  T& operator*() { return std::get<0>(content_); }
  const T& operator*() const { return std::get<0>(content_); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }
  const openai::error& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, openai::error> content_;
};

}  // namespace troupe::openai
