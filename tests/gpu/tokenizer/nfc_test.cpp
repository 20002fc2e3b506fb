#include "gpu/tokenizer/nfc.hpp"

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
