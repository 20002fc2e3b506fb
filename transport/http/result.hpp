// A value or an HTTP error.
#pragma once
#include <string>
#include <utility>
#include <variant>

namespace troupe {

struct http_error {
  unsigned status = 400;
  std::string message;  ///< for the client: names the place and the fix
  bool operator==(const http_error&) const = default;
};

template <class T>
class http_result {
 public:
  http_result(T value) : content_(std::move(value)) {}
  http_result(http_error error) : content_(std::move(error)) {}

  explicit operator bool() const { return content_.index() == 0; }
  T& operator*() { return std::get<0>(content_); }
  const T& operator*() const { return std::get<0>(content_); }
  T* operator->() { return &**this; }
  const T* operator->() const { return &**this; }
  const http_error& error() const { return std::get<1>(content_); }

 private:
  std::variant<T, http_error> content_;
};

}  // namespace troupe
