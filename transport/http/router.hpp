// Router from method and path to handler functions.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/http/server.hpp"

namespace troupe {

/// The values of the {placeholders} of a route, percent-decoded.
class path_parameters {
 public:
  void add(std::string_view name, std::string value) { values_.emplace_back(name, std::move(value)); }
  /// The value of {name}; empty if the route has no such placeholder.
  const std::string& operator[](std::string_view name) const;

 private:
  std::vector<std::pair<std::string_view, std::string>> values_;  // names live in the router
};

/// Guard in front of the routes: admits or refuses a request when its header is complete.
class http_guard {
 public:
  virtual ~http_guard() = default;
  /// `pattern`: the matching route. Returns the answer of a refusal; nothing: the request is admitted.
  virtual std::optional<http_response> refusal(std::string_view pattern, const path_parameters& path,
                                               http_request& head) = 0;
};

/// Writes a refusal of a path that no handler is asked about, in the form of the API that the path belongs
/// to.
using path_refusal = http_response (*)(std::string_view path, unsigned status, std::string message);

/// A handler made of routes. Unknown paths answer 404, known ones with another method 405. HEAD is GET (the
/// server leaves the body out). Routes are tried in the order they were added.
class http_router final : public http_handler {
 public:
  using route_handler = std::function<void(http_request, const path_parameters&, http_reply)>;

  /// `pattern`: "/v2/models/{model}/infer"; a placeholder matches one non-empty segment. A last one with
  /// dots,
  /// "/v1/models/{id...}", matches the rest of the path, one segment or more.
  void add(std::string method, std::string_view pattern, route_handler handler);
  /// Called in `admit` for every matching route; null: no guard. Outlives the router.
  void set_guard(http_guard* guard) { guard_ = guard; }
  /// The form of the 404 and 405 of the router itself, and of refusals of requests that cannot be read; as
  /// `http_error_response` unless set.
  void set_path_refusal(path_refusal form) { path_refusal_ = form; }
  std::optional<http_response> admit(http_request& head) override;
  http_response refused(std::string_view path, const http_error& why) override;
  void handle(http_request request, http_reply reply) override;

 private:
  struct route {
    std::string method;
    std::string pattern;
    std::vector<std::string> segments;  // placeholders keep their '{'
    route_handler handler;
  };
  /// Null if there is none; then `allowed` lists the methods of the path, if it is known.
  const route* find(const http_request& request, std::string* allowed = nullptr) const;
  std::vector<route> routes_;
  http_guard* guard_ = nullptr;
  path_refusal path_refusal_ = nullptr;
};

}  // namespace troupe
