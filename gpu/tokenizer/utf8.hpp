// Reads UTF-8 by Unicode's recommendation: every maximal part of an invalid character is one U+FFFD.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::llm {

/// `bytes` with invalid parts replaced by U+FFFD.
std::string replace_invalid(std::string_view bytes);

bool is_utf8(std::string_view bytes);

/// Number of bytes at the end (0 to 3) of an incomplete but valid prefix of a character.
size_t incomplete_tail(std::string_view bytes);

/// The first character of `text`, which is UTF-8 and not empty. `length`: its bytes.
char32_t first_character(std::string_view text, size_t& length);
char32_t first_character(std::string_view text);

void append_utf8(std::string& text, char32_t character);

/// `text` with `by` in place of `what` (not empty), wherever it occurs.
std::string replaced(std::string_view text, std::string_view what, std::string_view by);

}  // namespace troupe::llm
