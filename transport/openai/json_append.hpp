// JSON writer that appends to a string, for the events of token streams.
#pragma once
#include <charconv>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::openai {

/// `text` in quotes. Invalid UTF-8 becomes U+FFFD: one for every maximal part of a broken character.
void append_quoted(std::string& out, std::string_view text);

template <std::integral I>
void append_number(std::string& out, I value) {
  char digits[24];
  out.append(digits, std::to_chars(digits, digits + sizeof digits, value).ptr);
}

/// In brackets, with commas; `element(x)` writes each.
template <class List, class Element>
void append_list(std::string& out, const List& list, Element element) {
  out += '[';
  bool first = true;
  for (const auto& x : list) {
    if (!first) out += ',';
    first = false;
    element(x);
  }
  out += ']';
}

/// In the fewest digits that read back as the same value; 0 for what is no number in JSON.
void append_real(std::string& out, float value);

/// The same. Minus infinity (an impossible token) has no JSON
/// form and is written as -9999, as by other servers.
void append_logprob(std::string& out, float value);

/// Number of UTF-8 characters, the unit of text offsets.
size_t character_count(std::string_view text);

}  // namespace troupe::openai
