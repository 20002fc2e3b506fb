#include <algorithm>
#include <cstdint>

#include "gpu/chat/text.hpp"

namespace troupe::llm::jinja::text {

namespace {

using pieces = std::vector<std::string_view>;

pieces split_at_space(std::string_view s, int64_t most) {
  pieces out;
  for (s = strip_left(s); !s.empty(); s = strip_left(s)) {
    if (most-- == 0) {
      out.push_back(s);
      break;
    }
    size_t at = 0;
    for (size_t end; at < s.size(); at = end) {
      end = next(s, at);
      if (is_space(code_point(s, at, end))) break;
    }
    out.push_back(s.substr(0, at));
    s = s.substr(at);
  }
  return out;
}

pieces split_at_space_from_right(std::string_view s, int64_t most) {
  pieces out;
  for (s = strip_right(s); !s.empty(); s = strip_right(s)) {
    if (most-- == 0) {
      out.push_back(s);
      break;
    }
    size_t from = 0;  // after the last white space
    for (size_t at = s.size(); at > 0;) {
      auto begin = at - 1;
      while (begin > 0 && (static_cast<unsigned char>(s[begin]) & 0xc0) == 0x80) --begin;
      if (is_space(code_point(s, begin, at))) {
        from = at;
        break;
      }
      at = begin;
    }
    out.push_back(s.substr(from));
    s = s.substr(0, from);
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

pieces split(std::string_view s, const std::string_view* separator, int64_t most, bool from_right) {
  if (separator == nullptr) return from_right ? split_at_space_from_right(s, most) : split_at_space(s, most);
  pieces out;
  while (most != 0) {
    const auto at = from_right ? s.rfind(*separator) : s.find(*separator);
    if (at == s.npos) break;
    const auto after = s.substr(at + separator->size()), before = s.substr(0, at);
    out.push_back(from_right ? after : before);
    s = from_right ? before : after;
    --most;
  }
  out.push_back(s);
  if (from_right) std::reverse(out.begin(), out.end());
  return out;
}

pieces split_lines(std::string_view s) {
  pieces out;
  size_t from = 0;
  for (size_t at = 0, end; at < s.size(); at = end) {
    end = next(s, at);
    const auto c = code_point(s, at, end);
    const bool ends = (c >= 10 && c <= 13) || (c >= 28 && c <= 30) || c == 0x85 || c == 0x2028 || c == 0x2029;
    if (!ends) continue;
    if (c == '\r' && end < s.size() && s[end] == '\n') ++end;
    out.push_back(s.substr(from, at - from));
    from = end;
  }
  if (from < s.size()) out.push_back(s.substr(from));
  return out;
}

}  // namespace troupe::llm::jinja::text
