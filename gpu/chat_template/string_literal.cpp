#include "gpu/chat_template/string_literal.hpp"

#include <charconv>
#include <cstdint>

#include "gpu/chat_template/text.hpp"

namespace troupe::llm::jinja {

namespace {

/// Reads exactly `digits` digits, and moves `at` behind them.
std::optional<uint32_t> hexadecimal(std::string_view s, size_t& at, size_t digits) {
  if (s.size() - at < digits) return std::nullopt;
  uint32_t c = 0;
  const auto* begin = s.data() + at;
  const auto [end, error] = std::from_chars(begin, begin + digits, c, 16);
  if (error != std::errc{} || end != begin + digits) return std::nullopt;
  at += digits;
  return c;
}

uint32_t octal(std::string_view s, size_t& at) {
  uint32_t c = 0;
  for (int i = 0; i < 3 && at < s.size() && s[at] >= '0' && s[at] <= '7'; ++i)
    c = c * 8 + static_cast<uint32_t>(s[at++] - '0');
  return c;
}

}  // namespace

std::optional<std::string> decode_escapes(std::string_view s) {
  std::string out;
  for (size_t at = 0; at < s.size();) {
    if (s[at] != '\\') {
      out += s[at++];
      continue;
    }
    if (++at == s.size()) return std::nullopt;
    constexpr std::string_view letters = "\\'\"abfnrtv", meanings = "\\'\"\a\b\f\n\r\t\v";
    const auto c = s[at];
    if (const auto known = letters.find(c); known != letters.npos) {
      out += meanings[known];
      ++at;
    } else if (c == '\n') {
      ++at;
    } else if (c >= '0' && c <= '7') {
      text::append(out, octal(s, at));
    } else if (c == 'x' || c == 'u' || c == 'U') {
      const auto code = hexadecimal(s, ++at, c == 'x' ? 2 : c == 'u' ? 4 : 8);
      if (!code || *code > 0x10ffff || (*code >= 0xd800 && *code <= 0xdfff)) return std::nullopt;
      text::append(out, *code);
    } else if (c == 'N') {
      return std::nullopt;
    } else {
      out += '\\';
    }
  }
  return out;
}

}  // namespace troupe::llm::jinja
