#include "gpu/tokenizer/unicode.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace troupe::llm;

TEST_CASE("NFC composes characters") {
  CHECK(nfc("") == "");
  CHECK(nfc("plain ÄÖÜ") == "plain ÄÖÜ");
  CHECK(nfc("e\u0301") == "é");
  CHECK(nfc("\u1112\u1161\u11ab") == "한");
  CHECK(nfc("\u212b \u2126") == "\u00c5 \u03a9");
  CHECK(nfc("\u0958") == "\u0915\u093c");  // excluded from composition
  CHECK(nfc("q\u0344") == "q\u0308\u0301");
}

TEST_CASE("NFC puts marks into canonical order") {
  CHECK(nfc("e\u0301\u0323") == "\u1eb9\u0301");
  CHECK(nfc("q\u0307\u0323") == "q\u0323\u0307");
  CHECK(nfc("a\u0315\u0300\u05ae\u0300b") == "\u00e0\u05ae\u0300\u0315b");
}

TEST_CASE("NFC sorts a million marks in the worst order without quadratic time") {
  std::string worst = "q", sorted = "q";
  for (int i = 0; i < 500'000; ++i) worst += "\u0301\u0323";
  for (int i = 0; i < 500'000; ++i) sorted += "\u0323";
  for (int i = 0; i < 500'000; ++i) sorted += "\u0301";
  CHECK((nfc(worst) == sorted));
}

TEST_CASE("the four normalization forms") {
  CHECK(normalize("\ufb01 \u00bd", normal_form::nfc) == "\ufb01 \u00bd");
  CHECK(normalize("\u00e9", normal_form::nfd) == "e\u0301");
  CHECK(normalize("\ufb01 \uff21 e\u0301", normal_form::nfkc) == "fi A \u00e9");
  CHECK(normalize("\ufb01\u00e9", normal_form::nfkd) == "fie\u0301");
  CHECK(normalize("plain", normal_form::nfkd) == "plain");
}

TEST_CASE("properties of characters") {
  CHECK(lowercase("\u00c4\u0130A\u03a3") == "\u00e4i\u0307a\u03c3");
  CHECK(without_nonspacing_marks("e\u0301\u093e") == "e\u093e");
  CHECK(without_marks("e\u0301\u093e") == "e");
  CHECK(is_white_space(0x3000));
  CHECK_FALSE(is_white_space(0x200b));
  CHECK(is_control(0x200b));
  CHECK(is_punctuation(0x3002));
  CHECK_FALSE(is_punctuation(U'+'));
  CHECK(is_ideograph(0x4e2d));
  CHECK_FALSE(is_ideograph(0x3042));
}
