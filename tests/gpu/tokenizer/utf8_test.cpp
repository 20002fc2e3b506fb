#include "gpu/tokenizer/utf8.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace troupe::llm;
using namespace std::string_literals;

TEST_CASE("each maximal part of an invalid character becomes one U+FFFD") {
  CHECK(replace_invalid("") == "");
  CHECK(replace_invalid("aé漢😀\0b"s) == "aé漢😀\0b"s);
  CHECK(replace_invalid("a\xff"
                        "b") == "a\ufffdb");
  CHECK(replace_invalid("\xe6\xbc") == "\ufffd");                            // cut off
  CHECK(replace_invalid("\xf0\x9f\x98x") == "\ufffdx");                      // three of four bytes
  CHECK(replace_invalid("\xc0\xaf") == "\ufffd\ufffd");                      // overlong
  CHECK(replace_invalid("\xed\xa0\x80") == "\ufffd\ufffd\ufffd");            // a surrogate
  CHECK(replace_invalid("\xf4\x90\x80\x80") == "\ufffd\ufffd\ufffd\ufffd");  // above U+10FFFF
  CHECK(replace_invalid("\xe0\x80\xe6\xbc\xa2") == "\ufffd\ufffd漢");
}

TEST_CASE("is_utf8 accepts valid UTF-8 and rejects other bytes") {
  for (const auto& text : {""s, "aé漢😀"s, "\xf4\x8f\xbf\xbf"s, "\0"s}) CHECK(is_utf8(text));
  for (const auto& text : {"\x80"s, "a\xe6\xbc"s, "\xed\xa0\x80"s, "\xf5\x80\x80\x80"s})
    CHECK_FALSE(is_utf8(text));
}

TEST_CASE("an incomplete tail is the valid beginning of a character") {
  CHECK(incomplete_tail("") == 0);
  CHECK(incomplete_tail("aé") == 0);
  CHECK(incomplete_tail("a\xc3") == 1);
  CHECK(incomplete_tail("a\xe6\xbc") == 2);
  CHECK(incomplete_tail("\xf0\x9f\x98") == 3);
  CHECK(incomplete_tail("\xff") == 0);
  CHECK(incomplete_tail("\xe0\x80") == 0);
  CHECK(incomplete_tail("\x80\x80\x80\x80") == 0);
  CHECK(incomplete_tail("\xf0\x9f\x98\x80") == 0);
}

TEST_CASE("a written character is read back") {
  for (const char32_t c : {0x00U, 0x7fU, 0x80U, 0x7ffU, 0x800U, 0xffffU, 0x10000U, 0x10ffffU}) {
    std::string text;
    append_utf8(text, c);
    size_t length = 0;
    CHECK(first_character(text, length) == c);
    CHECK(length == text.size());
    CHECK(is_utf8(text));
  }
}

TEST_CASE("a text is replaced wherever it occurs") {
  CHECK(replaced("", "a", "b").empty());
  CHECK(replaced("abcab", "ab", "x") == "xcx");
  CHECK(replaced("aaa", "aa", "") == "a");
  CHECK(replaced("é▁é", "▁", " ") == "é é");
}
