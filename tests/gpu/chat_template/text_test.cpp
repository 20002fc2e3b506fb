#include "gpu/chat_template/text.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <vector>

using namespace troupe::llm::jinja;

TEST_CASE("lengths count code points") {
  CHECK(text::length("") == 0);
  CHECK(text::length("aü你👋") == 4);
  CHECK(text::characters("aü👋").back() == "👋");
}

TEST_CASE("is_utf8 rejects invalid UTF-8") {
  CHECK(text::is_utf8("aü你👋"));
  for (const auto* s : {"\xff", "\xc3", "\x80", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\xe4\xbd"})
    CHECK_FALSE(text::is_utf8(s));
}

TEST_CASE("text functions accept invalid UTF-8") {
  const std::string s =
      "\xff\x80"
      "a\xc3";
  CHECK(text::upper(s).size() > 0);
  CHECK(text::length(s) == 3);
  CHECK_FALSE(text::repr(s).empty());
  CHECK_FALSE(text::json(s, true).empty());
}

TEST_CASE("white space is stripped as Python strips it") {
  CHECK(text::strip_left(" \t\n\u00a0\u3000a ") == "a ");
  CHECK(text::strip_right(" a\u2003\x1f") == " a");
  const std::string_view chars = "üb";
  CHECK(text::strip_right("abüüb", &chars) == "a");
}

TEST_CASE("case changes cover characters beyond ASCII") {
  CHECK(text::upper("grüße") == "GRÜSSE");
  CHECK(text::lower("ÄÖ ПРИВЕТ") == "äö привет");
  CHECK(text::title("it's ünder-way 3rd") == "It'S Ünder-Way 3Rd");
  CHECK(text::capitalize("éCOLE Nationale") == "École nationale");
}

TEST_CASE("a repr uses the quotes that need no escapes") {
  CHECK(text::repr("a") == "'a'");
  CHECK(text::repr("it's") == "\"it's\"");
  CHECK(text::repr("'\"\\\n\x01\u00ad") == "'\\'\"\\\\\\n\\x01\\xad'");
}

TEST_CASE("JSON escapes control characters and quotes, and all beyond ASCII on request") {
  CHECK(text::json("\"\\\n\x01ü</", false) == "\"\\\"\\\\\\n\\u0001ü</\"");
  CHECK(text::json("ü👋\x7f", true) == "\"\\u00fc\\ud83d\\udc4b\\u007f\"");
}

TEST_CASE("replacing an empty text inserts the replacement around each code point") {
  CHECK(text::replace("üa", "", "-", -1) == "-ü-a-");
  CHECK(text::replace("üa", "", "-", 2) == "-ü-a");
  CHECK(text::replace("aaa", "a", "b", 2) == "bba");
}

TEST_CASE("texts are found and split from the left and from the right") {
  CHECK(text::find("abcabc", "bc") == 1);
  CHECK(text::find("abcabc", "bc", 2) == 4);
  CHECK(text::find("abc", "x") == std::string::npos);
  CHECK(text::find_last("abcabc", "bc") == 4);
  const std::string_view aa = "aa";
  CHECK(text::split("aaab", &aa, -1, false) == std::vector<std::string_view>{"", "ab"});
  CHECK(text::split("aaab", &aa, -1, true) == std::vector<std::string_view>{"a", "b"});
  CHECK(text::split("xaayaaz", &aa, 1, true) == std::vector<std::string_view>{"xaay", "z"});
  CHECK(text::split(" a  b c ", nullptr, 1, false) == std::vector<std::string_view>{"a", "b c "});
  CHECK(text::split(" a  b c ", nullptr, 1, true) == std::vector<std::string_view>{" a  b", "c"});
}

TEST_CASE("a search with partial matches everywhere takes linear time") {
  std::string hay, needle;
  for (int i = 0; i < 1'000'000; ++i) hay += "ab";
  for (int i = 0; i < 500'000; ++i) needle += "ab";
  CHECK(text::find(hay, needle + 'c') == std::string::npos);  // 10^12 comparisons for a naive search
  CHECK(text::find_last(hay, 'c' + needle) == std::string::npos);
}
