#include "transport/openai/json_append.hpp"

#include <algorithm>
#include <cmath>

namespace troupe::openai {
namespace {

constexpr std::string_view replacement = "\xEF\xBF\xBD";

bool is_plain(char c) {
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x80 && c != '"' && c != '\\';
}

struct sequence {
  size_t length;  // at least 1
  bool whole;     // else: the maximal part of a character that was broken off
};

// At the front of `s`, which begins with a byte of 0x80 or more (Unicode 15, table 3-7).
sequence utf8_sequence(std::string_view s) {
  const auto byte = [&](size_t i) -> unsigned { return static_cast<unsigned char>(s[i]); };
  const unsigned lead = byte(0);
  if (lead < 0xC2 || lead > 0xF4) return {1, false};
  const size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  unsigned low = 0x80, high = 0xBF;  // of the second byte; no overlong forms, surrogates or beyond U+10FFFF
  if (lead == 0xE0) low = 0xA0;
  if (lead == 0xED) high = 0x9F;
  if (lead == 0xF0) low = 0x90;
  if (lead == 0xF4) high = 0x8F;
  for (size_t i = 1; i < length; ++i) {
    if (i >= s.size() || byte(i) < low || byte(i) > high) return {i, false};
    low = 0x80, high = 0xBF;
  }
  return {length, true};
}

void append_escaped(std::string& out, char c) {
  constexpr std::string_view hex = "0123456789abcdef";
  switch (c) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\b': out += "\\b"; return;
    case '\f': out += "\\f"; return;
    case '\n': out += "\\n"; return;
    case '\r': out += "\\r"; return;
    case '\t': out += "\\t"; return;
    default:
      out += "\\u00";
      out += hex[static_cast<unsigned char>(c) >> 4];
      out += hex[c & 15];
  }
}

}  // namespace

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const size_t plain =
        static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_plain) - text.begin());
    out.append(text, 0, plain);
    text.remove_prefix(plain);
    if (text.empty()) break;
    if (static_cast<unsigned char>(text[0]) < 0x80) {
      append_escaped(out, text[0]);
      text.remove_prefix(1);
      continue;
    }
    const auto next = utf8_sequence(text);
    out += next.whole ? text.substr(0, next.length) : replacement;
    text.remove_prefix(next.length);
  }
  out += '"';
}

void append_real(std::string& out, float value) {
  char digits[32];
  const float shown = std::isfinite(value) ? value : 0;
  out.append(digits, std::to_chars(digits, digits + sizeof digits, shown).ptr);
}

void append_logprob(std::string& out, float value) {
  constexpr float min_logprob = -9999;
  append_real(out, value > min_logprob ? value : min_logprob);  // NaN too
}

size_t character_count(std::string_view text) {
  return static_cast<size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace troupe::openai
