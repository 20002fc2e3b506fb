// UTF-8 as Unicode recommends to read it: every maximal part of a broken character is one U+FFFD.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::llm {

/// `bytes` with U+FFFD for what is wrong in it: always UTF-8.
std::string replace_invalid(std::string_view bytes);

bool is_utf8(std::string_view bytes);

/// How many bytes at the end (0 to 3) are a character that has just begun and may still be completed.
size_t incomplete_tail(std::string_view bytes);

/// The first character of `text`, which is UTF-8 and not empty; `length`: its bytes.
char32_t first_character(std::string_view text, size_t& length);

void append_utf8(std::string& text, char32_t character);

}  // namespace troupe::llm
