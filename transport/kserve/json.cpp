#include "transport/kserve/json.hpp"

#include <fmt/format.h>

#include "transport/http/message.hpp"
#include "transport/http/result.hpp"

namespace troupe {
namespace {

constexpr int depth_limit = 64;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Bytes of the UTF-8 sequence at the front of `s`, 0 if it is none (Unicode 15, table 3-7).
size_t utf8_sequence(std::string_view s) {
  auto byte = [&](size_t i) -> unsigned { return i < s.size() ? static_cast<unsigned char>(s[i]) : 0; };
  auto tail = [&](size_t i) { return (byte(i) & 0xC0) == 0x80; };
  const unsigned a = byte(0), b = byte(1);
  if (a < 0x80) return 1;
  if (a < 0xC2 || a > 0xF4 || !tail(1)) return 0;
  if (a < 0xE0) return 2;
  if (!tail(2)) return 0;
  if (a < 0xF0) return (a == 0xE0 && b < 0xA0) || (a == 0xED && b > 0x9F) ? 0 : 3;
  return !tail(3) || (a == 0xF0 && b < 0x90) || (a == 0xF4 && b > 0x8F) ? 0 : 4;
}

void append_utf8(std::string& out, unsigned c) {
  auto put = [&](unsigned byte) { out += static_cast<char>(byte); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xC0 | c >> 6);
  } else {
    if (c < 0x10000) {
      put(0xE0 | c >> 12);
    } else {
      put(0xF0 | c >> 18);
      put(0x80 | (c >> 12 & 0x3F));
    }
    put(0x80 | (c >> 6 & 0x3F));
  }
  put(0x80 | (c & 0x3F));
}

}  // namespace

char json_reader::peek() {
  while (at_ < text_.size()) {
    const char c = text_[at_];
    if (c != ' ' && c != '\n' && c != '\t' && c != '\r') return c;
    ++at_;
  }
  return 0;
}

bool json_reader::take(char c) {
  if (peek() != c || at_ == text_.size()) return false;
  ++at_;
  return true;
}

void json_reader::expect(char c, std::string_view what) {
  if (!take(c)) fail(what);
}

void json_reader::fail(std::string_view expected) {
  peek();
  const auto found = at_ == text_.size() ? std::string("the end") : json_quote(ahead());
  throw http_error{
      400, fmt::format("malformed {} at byte {}: expected {}, found {}", what_, at_, expected, found)};
}

std::string_view json_reader::ahead() {
  peek();
  size_t n = 0;
  while (at_ + n < text_.size() && n < 40) {
    const size_t step = utf8_sequence(text_.substr(at_ + n));
    if (step == 0) break;
    n += step;
  }
  return text_.substr(at_, n);
}

std::string json_reader::read_string() {
  expect('"', "a string");
  std::string out;
  for (;;) {
    const size_t begin = at_;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\\') {
      if (static_cast<unsigned char>(text_[at_]) < 0x20) fail("no control character in a string");
      const size_t n = utf8_sequence(text_.substr(at_));
      if (n == 0) fail("UTF-8 in a string");
      at_ += n;
    }
    out.append(text_, begin, at_ - begin);
    if (at_ == text_.size()) fail("the end of a string");
    if (text_[at_++] == '"') return out;
    append_escape(out);
  }
}

void json_reader::append_escape(std::string& out) {
  static constexpr std::string_view escapes = "\"\\/bfnrt", meant = "\"\\/\b\f\n\r\t";
  if (at_ == text_.size()) fail("an escape");
  const char c = text_[at_++];
  if (const auto i = escapes.find(c); i != std::string_view::npos) {
    out += meant[i];
    return;
  }
  if (c != 'u') fail("an escape");
  unsigned code = read_hex4();
  if (code >= 0xDC00 && code <= 0xDFFF) fail("no lone surrogate");
  if (code >= 0xD800 && code <= 0xDBFF) {
    if (text_.substr(at_, 2) != "\\u") fail("a low surrogate");
    at_ += 2;
    const unsigned low = read_hex4();
    if (low < 0xDC00 || low > 0xDFFF) fail("a low surrogate");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  append_utf8(out, code);
}

unsigned json_reader::read_hex4() {
  unsigned value = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    const char c = at_ < text_.size() ? text_[at_] : '\0';
    const char lower = static_cast<char>(c | 0x20);
    if (is_digit(c))
      value = value * 16 + static_cast<unsigned>(c - '0');
    else if (lower >= 'a' && lower <= 'f')
      value = value * 16 + static_cast<unsigned>(lower - 'a' + 10);
    else
      fail("four hexadecimal digits");
  }
  return value;
}

std::string_view json_reader::read_number() {
  peek();
  const auto rest = text_.substr(at_);
  size_t n = 0;  // not at_, so that it stays in a register
  auto here = [&] { return n < rest.size() ? rest[n] : '\0'; };
  auto digits = [&] {
    if (!is_digit(here())) {
      at_ += n;
      fail("a digit");
    }
    while (is_digit(here())) ++n;
  };
  if (here() == '-') ++n;
  if (here() == '0')
    ++n;
  else
    digits();
  if (here() == '.') {
    ++n;
    digits();
  }
  if (here() == 'e' || here() == 'E') {
    ++n;
    if (here() == '+' || here() == '-') ++n;
    digits();
  }
  at_ += n;
  return rest.substr(0, n);
}

std::string_view json_reader::read_literal() {
  peek();
  for (std::string_view literal : {"true", "false", "null"})
    if (text_.substr(at_).starts_with(literal)) {
      at_ += literal.size();
      return literal;
    }
  fail("a value");
}

void json_reader::skip_value(int depth) {
  if (depth > depth_limit) fail(fmt::format("no more than {} levels", depth_limit));
  switch (peek()) {
    case '{': return read_object([&](const std::string&) { skip_value(depth + 1); });
    case '[': return read_array([&] { skip_value(depth + 1); });
    case '"': read_string(); return;
    case 't':
    case 'f':
    case 'n': read_literal(); return;
    default:
      if (peek() != '-' && !is_digit(peek())) fail("a value");
      read_number();
  }
}

std::string_view json_reader::read_raw() {
  peek();
  const size_t begin = at_;
  skip_value(0);
  return text_.substr(begin, at_ - begin);
}

std::string_view json_reader::skip_array() {
  if (peek() != '[') fail("an array");
  const size_t begin = at_;
  size_t open = 0;
  for (size_t i = begin; i < text_.size(); ++i) {
    const char c = text_[i];
    if (c > '"' && c < '[') continue;  // numbers and separators: nearly all characters
    if (c == '[') ++open;
    if (c == ']' && --open == 0) {
      at_ = i + 1;
      return text_.substr(begin, at_ - begin);
    }
    if (c == '"') {
      at_ = i;
      read_string();
      i = at_ - 1;
    }
  }
  at_ = text_.size();
  fail("the end of an array");
}

void json_reader::read_end() {
  peek();
  if (at_ != text_.size()) fail("nothing more");
}

}  // namespace troupe
