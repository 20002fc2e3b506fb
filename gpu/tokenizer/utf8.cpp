#include "gpu/tokenizer/utf8.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace troupe::llm {

namespace {

enum class outcome { whole, cut, wrong };

/// The first character of `bytes` (not empty), and its length in bytes.
struct reading {
  outcome what;
  size_t length;
};

/// Length of a character that begins with `lead`; 0 if `lead` is invalid.
size_t length_of(uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  return lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
}

reading read_character(std::string_view bytes) {
  const auto lead = static_cast<uint8_t>(bytes[0]);
  const auto length = length_of(lead);
  if (length == 0) return {outcome::wrong, 1};
  // the second byte reveals overlong forms, surrogates and values beyond U+10FFFF
  uint8_t min = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  uint8_t max = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {outcome::cut, i};
    const auto byte = static_cast<uint8_t>(bytes[i]);
    if (byte < min || byte > max) return {outcome::wrong, i};
    min = 0x80;
    max = 0xbf;
  }
  return {outcome::whole, length};
}

/// A number of leading bytes that are ASCII: a multiple of eight.
size_t ascii_prefix(std::string_view bytes) {
  size_t at = 0;
  for (uint64_t word = 0; at + sizeof word <= bytes.size(); at += sizeof word) {
    std::memcpy(&word, bytes.data() + at, sizeof word);
    if ((word & 0x8080808080808080) != 0) break;
  }
  return at;
}

}  // namespace

std::string replace_invalid(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  while (!bytes.empty()) {
    const auto r = read_character(bytes);
    text += r.what == outcome::whole ? bytes.substr(0, r.length) : std::string_view("\xef\xbf\xbd");
    bytes.remove_prefix(r.length);
  }
  return text;
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    bytes.remove_prefix(ascii_prefix(bytes));
    if (bytes.empty()) break;
    const auto r = read_character(bytes);
    if (r.what != outcome::whole) return false;
    bytes.remove_prefix(r.length);
  }
  return true;
}

size_t incomplete_tail(std::string_view bytes) {
  for (size_t tail = 1; tail <= std::min<size_t>(3, bytes.size()); ++tail) {
    const auto byte = static_cast<uint8_t>(bytes[bytes.size() - tail]);
    if ((byte & 0xc0) == 0x80) continue;  // a continuation byte
    return read_character(bytes.substr(bytes.size() - tail)).what == outcome::cut ? tail : 0;
  }
  return 0;
}

char32_t first_character(std::string_view text, size_t& length) {
  const auto lead = static_cast<uint8_t>(text[0]);
  length = std::max<size_t>(length_of(lead), 1);
  if (length == 1) return lead;
  char32_t character = lead & (0x7f >> length);
  for (size_t i = 1; i < length; ++i) character = character << 6 | (static_cast<uint8_t>(text[i]) & 0x3f);
  return character;
}

char32_t first_character(std::string_view text) {
  size_t length = 0;
  return first_character(text, length);
}

void append_utf8(std::string& text, char32_t c) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | (c >> shift & 0x3f)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xc0 | c >> 6);
    tail(0);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xe0 | c >> 12);
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | c >> 18);
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string replaced(std::string_view text, std::string_view what, std::string_view by) {
  std::string out;
  out.reserve(text.size());
  for (size_t at = 0; (at = text.find(what)) != std::string_view::npos;) {
    out += text.substr(0, at);
    out += by;
    text.remove_prefix(at + what.size());
  }
  return out += text;
}

}  // namespace troupe::llm
