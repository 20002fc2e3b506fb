#include "transport/http/router.hpp"

#include <fmt/format.h>

namespace troupe {
namespace {

/// Takes the next segment off the front of a path; false if there is none. A trailing slash changes nothing.
bool take_segment(std::string_view& path, std::string_view& segment) {
  if (path.empty()) return false;
  path.remove_prefix(path.front() == '/');
  segment = path.substr(0, path.find('/'));
  path.remove_prefix(segment.size());
  if (path == "/") path = {};
  return true;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

std::string percent_decoded(std::string_view s) {
  if (s.find('%') == std::string_view::npos) return std::string(s);
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
bool is_rest(std::string_view segment) { return segment.starts_with('{') && segment.ends_with("...}"); }

/// Takes the next segment, or all of them for "{name...}".
bool take(std::string_view pattern, std::string_view& path, std::string_view& got) {
  if (!is_rest(pattern)) return take_segment(path, got);
  if (!path.starts_with('/')) return false;
  got = path.substr(1, path.size() - 1 - (path.size() > 1 && path.ends_with('/')));
  path = {};
  return true;
}

bool matches(const std::vector<std::string>& pattern, std::string_view path) {
  std::string_view got;
  for (const auto& want : pattern)
    if (!take(want, path, got) || (is_placeholder(want) ? got.empty() : want != got)) return false;
  return path.empty();
}

path_parameters parameters_of(const std::vector<std::string>& pattern, std::string_view path) {
  path_parameters out;
  std::string_view got;
  for (const std::string_view name : pattern)
    if (take(name, path, got) && is_placeholder(name))
      out.add(name.substr(1, name.size() - (is_rest(name) ? 5 : 2)), percent_decoded(got));
  return out;
}

}  // namespace

const std::string& path_parameters::operator[](std::string_view name) const {
  static const std::string none;
  for (const auto& [key, value] : values_)
    if (key == name) return value;
  return none;
}

void http_router::add(std::string method, std::string_view pattern, route_handler handler) {
  route r{std::move(method), std::string(pattern), {}, std::move(handler)};
  for (std::string_view segment; take_segment(pattern, segment);) r.segments.emplace_back(segment);
  routes_.push_back(std::move(r));
}

const http_router::route* http_router::find(const http_request& request, std::string* allowed) const {
  const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
  for (const auto& r : routes_) {
    if (!matches(r.segments, request.path)) continue;
    if (r.method == method) return &r;
    if (allowed) *allowed += allowed->empty() ? r.method : ", " + r.method;
  }
  return nullptr;
}

http_response http_router::refused(std::string_view path, const http_error& why) {
  return path_refusal_ != nullptr ? path_refusal_(path, why.status, why.message)
                                  : http_error_response(why.status, why.message);
}

std::optional<http_response> http_router::admit(http_request& head) {
  std::string allowed;
  if (const auto* r = find(head, &allowed))
    return guard_ ? guard_->refusal(r->pattern, parameters_of(r->segments, head.path), head) : std::nullopt;
  if (allowed.empty()) return refused(head.path, {404, "no such path: " + head.path});
  auto refusal =
      refused(head.path, {405, fmt::format("{} does not take {}; use {}", head.path, head.method, allowed)});
  refusal.headers.add("Allow", allowed);
  return refusal;
}

void http_router::handle(http_request request, http_reply reply) {
  const auto* r = find(request);
  if (r == nullptr) return;  // not admitted
  const auto parameters = parameters_of(r->segments, request.path);
  r->handler(std::move(request), parameters, std::move(reply));
}

}  // namespace troupe
