#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>

#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja::text {

namespace {

using pieces = std::vector<std::string_view>;

std::string reversed(std::string_view s) { return {s.rbegin(), s.rend()}; }

pieces split_at_space(std::string_view s, int64_t max_splits) {
  pieces out;
  for (s = strip_left(s); !s.empty(); s = strip_left(s)) {
    if (max_splits-- == 0) {
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

pieces split_at_space_from_right(std::string_view s, int64_t max_splits) {
  pieces out;
  for (s = strip_right(s); !s.empty(); s = strip_right(s)) {
    if (max_splits-- == 0) {
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

/// Splits the reversed text from the left.
pieces split_from_right(std::string_view s, std::string_view separator, int64_t max_splits) {
  const auto backwards = reversed(s), separator_backwards = reversed(separator);
  const std::string_view wanted = separator_backwards;
  auto out = split(backwards, &wanted, max_splits, false);
  for (auto& piece : out) {
    const auto from = static_cast<size_t>(piece.data() - backwards.data());
    piece = s.substr(s.size() - from - piece.size(), piece.size());
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

size_t find(std::string_view s, std::string_view part, size_t from) {
  if (from > s.size()) return s.npos;
  if (part.empty()) return from;
  const auto* found = memmem(s.data() + from, s.size() - from, part.data(), part.size());
  return found == nullptr ? s.npos : static_cast<size_t>(static_cast<const char*>(found) - s.data());
}

size_t find_last(std::string_view s, std::string_view part) {
  const auto at = find(reversed(s), reversed(part));
  return at == s.npos ? at : s.size() - at - part.size();
}

pieces split(std::string_view s, const std::string_view* separator, int64_t max_splits, bool from_right) {
  if (separator == nullptr)
    return from_right ? split_at_space_from_right(s, max_splits) : split_at_space(s, max_splits);
  if (from_right) return split_from_right(s, *separator, max_splits);
  pieces out;
  size_t from = 0;
  for (auto at = find(s, *separator); at != s.npos && max_splits != 0;
       at = find(s, *separator, from), --max_splits) {
    out.push_back(s.substr(from, at - from));
    from = at + separator->size();
  }
  out.push_back(s.substr(from));
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
