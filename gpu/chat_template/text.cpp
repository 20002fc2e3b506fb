#include "gpu/chat_template/text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <locale>
#include <stdexcept>

namespace troupe::llm::jinja::text {

namespace {

bool continues(char c) { return (static_cast<unsigned char>(c) & 0xc0) == 0x80; }

const std::locale& unicode_locale() {
  static const auto locale = [] {
    try {
      return std::locale("C.UTF-8");
    } catch (const std::runtime_error&) {
      return std::locale::classic();  // fallback: letters beyond ASCII keep their case
    }
  }();
  return locale;
}

const std::ctype<wchar_t>& letters() {
  static const auto& facet = std::use_facet<std::ctype<wchar_t>>(unicode_locale());
  return facet;
}

char32_t upper(char32_t c) {
  if (c < 128) return c >= 'a' && c <= 'z' ? c - 32 : c;
  return static_cast<char32_t>(letters().toupper(static_cast<wchar_t>(c)));
}

char32_t lower(char32_t c) {
  if (c < 128) return c >= 'A' && c <= 'Z' ? c + 32 : c;
  return static_cast<char32_t>(letters().tolower(static_cast<wchar_t>(c)));
}

bool is_cased(char32_t c) { return c == U'ß' || upper(c) != c || lower(c) != c; }

void append_upper(std::string& s, char32_t c) {
  if (c == U'ß') {
    s += "SS";
  } else {
    append(s, upper(c));
  }
}

void append_title(std::string& s, char32_t c) {
  if (c == U'ß') {
    s += "Ss";
  } else {
    append(s, upper(c));
  }
}

template <class function>
std::string each(std::string_view s, function f) {
  std::string out;
  out.reserve(s.size());
  for (size_t at = 0, end; at < s.size(); at = end) {
    end = next(s, at);
    f(out, code_point(s, at, end));
  }
  return out;
}

}  // namespace

size_t next(std::string_view s, size_t at) {
  do ++at;
  while (at < s.size() && continues(s[at]));
  return at;
}

size_t length(std::string_view s) {
  if (s.empty()) return 0;
  const auto starts = s.size() - static_cast<size_t>(std::count_if(s.begin(), s.end(), continues));
  return starts + (continues(s.front()) ? 1 : 0);
}

char32_t code_point(std::string_view s, size_t at, size_t end) {
  const auto first = static_cast<unsigned char>(s[at]);
  const auto bytes = end - at;
  if (first < 0x80 || bytes == 1) return first;
  auto c = static_cast<char32_t>(first & (0xff >> std::min<size_t>(bytes + 1, 7)));
  for (auto i = at + 1; i < std::min(end, at + 4); ++i)
    c = (c << 6) | (static_cast<unsigned char>(s[i]) & 0x3f);
  return c;
}

void append(std::string& s, char32_t c) {
  const auto byte = [&](char32_t b) { s += static_cast<char>(b); };
  if (c < 0x80) {
    byte(c);
  } else if (c < 0x800) {
    byte(0xc0 | (c >> 6));
    byte(0x80 | (c & 0x3f));
  } else if (c < 0x10000) {
    byte(0xe0 | (c >> 12));
    byte(0x80 | ((c >> 6) & 0x3f));
    byte(0x80 | (c & 0x3f));
  } else {
    byte(0xf0 | ((c >> 18) & 7));
    byte(0x80 | ((c >> 12) & 0x3f));
    byte(0x80 | ((c >> 6) & 0x3f));
    byte(0x80 | (c & 0x3f));
  }
}

bool is_utf8(std::string_view s) {
  for (size_t at = 0, end; at < s.size(); at = end) {
    end = next(s, at);
    const auto c = code_point(s, at, end);
    if (end - at == 1 ? c >= 0x80 : end - at > 4 || (c >= 0xd800 && c <= 0xdfff) || c > 0x10ffff)
      return false;
    std::string again;
    append(again, c);
    if (again != s.substr(at, end - at)) return false;
  }
  return true;
}

std::vector<std::string_view> characters(std::string_view s) {
  std::vector<std::string_view> out;
  out.reserve(s.size());
  for (size_t at = 0, end; at < s.size(); at = end) {
    end = next(s, at);
    out.push_back(s.substr(at, end - at));
  }
  return out;
}

bool is_space(char32_t c) {
  return (c >= 9 && c <= 13) || (c >= 28 && c <= 32) || c == 0x85 || c == 0xa0 || c == 0x1680 ||
         (c >= 0x2000 && c <= 0x200a) || c == 0x2028 || c == 0x2029 || c == 0x202f || c == 0x205f ||
         c == 0x3000;
}

bool all_space(std::string_view s) { return strip_left(s).empty(); }

namespace {

bool strips(std::string_view s, size_t at, size_t end, const std::string_view* chars) {
  if (chars == nullptr) return is_space(code_point(s, at, end));
  return chars->find(s.substr(at, end - at)) != std::string_view::npos;
}

}  // namespace

std::string_view strip_left(std::string_view s, const std::string_view* chars) {
  size_t at = 0;
  for (size_t end; at < s.size(); at = end) {
    end = next(s, at);
    if (!strips(s, at, end, chars)) break;
  }
  return s.substr(at);
}

std::string_view strip_right(std::string_view s, const std::string_view* chars) {
  while (!s.empty()) {
    auto at = s.size() - 1;
    while (at > 0 && continues(s[at])) --at;
    if (!strips(s, at, s.size(), chars)) break;
    s = s.substr(0, at);
  }
  return s;
}

std::string upper(std::string_view s) { return each(s, append_upper); }

std::string lower(std::string_view s) {
  return each(s, [](std::string& out, char32_t c) { append(out, lower(c)); });
}

std::string title(std::string_view s) {
  bool inside = false;
  return each(s, [&](std::string& out, char32_t c) {
    if (inside) {
      append(out, lower(c));
    } else {
      append_title(out, c);
    }
    inside = is_cased(c);
  });
}

std::string capitalize(std::string_view s) {
  bool first = true;
  return each(s, [&](std::string& out, char32_t c) {
    if (first) {
      append_title(out, c);
    } else {
      append(out, lower(c));
    }
    first = false;
  });
}

size_t count(std::string_view s, std::string_view part, int64_t max_count) {
  size_t n = 0;
  for (auto at = find(s, part); at != s.npos && (max_count < 0 || n < static_cast<uint64_t>(max_count));
       at = find(s, part, at + part.size()))
    ++n;
  return n;
}

std::string replace(std::string_view s, std::string_view part, std::string_view by, int64_t max_count) {
  std::string out;
  size_t from = 0;
  const auto may = [&] { return max_count < 0 || max_count-- > 0; };
  if (part.empty()) {
    while (may()) {
      out += by;
      if (from == s.size()) return out;
      const auto end = next(s, from);
      out += s.substr(from, end - from);
      from = end;
    }
  } else {
    for (auto at = find(s, part); at != s.npos && may(); at = find(s, part, from)) {
      out += s.substr(from, at - from);
      out += by;
      from = at + part.size();
    }
  }
  out += s.substr(from);
  return out;
}

std::string json(std::string_view s, bool ascii) {
  std::string out = "\"";
  for (size_t at = 0, end; at < s.size(); at = end) {
    end = next(s, at);
    const auto c = code_point(s, at, end);
    switch (c) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      case '\b': out += "\\b"; break;
      case '\f': out += "\\f"; break;
      default:
        if (c < 0x20 || (ascii && c >= 0x7f && c < 0x10000)) {
          // Python's pattern of ASCII characters ends at '~'
          fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<uint32_t>(c));
        } else if (ascii && c >= 0x10000) {
          const auto v = static_cast<uint32_t>(c) - 0x10000;
          fmt::format_to(std::back_inserter(out), "\\u{:04x}\\u{:04x}", 0xd800 | (v >> 10),
                         0xdc00 | (v & 0x3ff));
        } else {
          out += s.substr(at, end - at);
        }
    }
  }
  return out + '"';
}

namespace {

/// Python's isprintable: no control or format characters, no white space except the space, no private use.
bool is_printable(char32_t c) {
  if (c < 0x7f) return c >= 0x20;
  constexpr std::pair<char32_t, char32_t> hidden[] = {
      {0x7f, 0xa0},       {0xad, 0xad},       {0x600, 0x605},     {0x61c, 0x61c},     {0x6dd, 0x6dd},
      {0x70f, 0x70f},     {0x890, 0x891},     {0x8e2, 0x8e2},     {0x1680, 0x1680},   {0x180e, 0x180e},
      {0x2000, 0x200f},   {0x2028, 0x202f},   {0x205f, 0x206f},   {0x3000, 0x3000},   {0xd800, 0xf8ff},
      {0xfeff, 0xfeff},   {0xfff9, 0xfffb},   {0xfffe, 0xffff},   {0x110bd, 0x110bd}, {0x110cd, 0x110cd},
      {0x13430, 0x1343f}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe00ff}, {0xf0000, 0x10ffff}};
  return std::none_of(std::begin(hidden), std::end(hidden),
                      [&](const auto& h) { return c >= h.first && c <= h.second; });
}

}  // namespace

std::string repr(std::string_view s) {
  const char quote = s.find('\'') != s.npos && s.find('"') == s.npos ? '"' : '\'';
  std::string out(1, quote);
  for (size_t at = 0, end; at < s.size(); at = end) {
    end = next(s, at);
    const auto c = code_point(s, at, end);
    const auto number = static_cast<uint32_t>(c);
    if (c == static_cast<char32_t>(quote) || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\r') {
      out += "\\r";
    } else if (c == '\t') {
      out += "\\t";
    } else if (is_printable(c)) {
      out += s.substr(at, end - at);
    } else if (c < 0x100) {
      fmt::format_to(std::back_inserter(out), "\\x{:02x}", number);
    } else if (c < 0x10000) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", number);
    } else {
      fmt::format_to(std::back_inserter(out), "\\U{:08x}", number);
    }
  }
  return out + quote;
}

}  // namespace troupe::llm::jinja::text
