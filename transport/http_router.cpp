#include "transport/http_router.hpp"

#include <fmt/format.h>
#include <algorithm>

namespace troupe {
namespace {

std::vector<std::string> split(std::string_view path) {
  std::vector<std::string> segments;
  while (!path.empty()) {
    path.remove_prefix(path.front() == '/');
    const auto end = std::min(path.find('/'), path.size());
    segments.emplace_back(path.substr(0, end));
    path.remove_prefix(end);
    if (path == "/") break;  // a trailing slash changes nothing
  }
  return segments;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string percent_decoded(std::string_view s) {
  std::string out;
  for (size_t i = 0; i < s.size(); ++i) {
    if (s[i] == '%' && i + 2 < s.size() && hex(s[i + 1]) >= 0 && hex(s[i + 2]) >= 0) {
      out += static_cast<char>(hex(s[i + 1]) * 16 + hex(s[i + 2]));
      i += 2;
    } else {
      out += s[i];
    }
  }
  return out;
}

bool is_placeholder(std::string_view segment) { return segment.starts_with('{') && segment.ends_with('}'); }

bool matches(const std::vector<std::string>& pattern, const std::vector<std::string>& path) {
  return std::ranges::equal(pattern, path, [](const std::string& want, const std::string& got) {
    return is_placeholder(want) ? !got.empty() : want == got;
  });
}

}  // namespace

const std::string& path_parameters::operator[](std::string_view name) const {
  static const std::string none;
  for (const auto& [key, value] : values_)
    if (key == name) return value;
  return none;
}

void http_router::add(std::string method, std::string_view pattern, route_handler handler) {
  routes_.push_back({std::move(method), std::string(pattern), split(pattern), std::move(handler)});
}

void http_router::handle(http_request request, http_reply reply) {
  const auto path = split(request.path);
  const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
  std::string allowed;
  for (const auto& r : routes_) {
    if (!matches(r.segments, path)) continue;
    if (r.method != method) {
      allowed += allowed.empty() ? r.method : ", " + r.method;
      continue;
    }
    path_parameters parameters;
    for (size_t i = 0; i < path.size(); ++i)
      if (const std::string_view name = r.segments[i]; is_placeholder(name))
        parameters.add(name.substr(1, name.size() - 2), percent_decoded(path[i]));
    if (guard_ != nullptr && !guard_->pass(r.pattern, parameters, request, reply)) return;
    return r.handler(std::move(request), parameters, std::move(reply));
  }
  if (allowed.empty()) return reply.send(http_error_response(404, "no such path: " + request.path));
  auto refusal = http_error_response(
      405, fmt::format("{} does not take {}; use {}", request.path, request.method, allowed));
  refusal.headers.add("Allow", allowed);
  reply.send(std::move(refusal));
}

}  // namespace troupe
