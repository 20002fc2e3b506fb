#include "gpu/tokenizer/added_tokens.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace troupe::llm;

namespace {

std::string same(std::string_view text) { return std::string(text); }

added_token named(token id, const std::string& content) {
  added_token t;
  t.id = id;
  t.content = content;
  return t;
}

/// "a(7)b": the text a, the token 7 and the text b.
std::string parts(const added_tokens& tokens, std::string_view text, bool parse_special = true,
                  bool normalized = false) {
  std::string all;
  for (const auto& p : tokens.split(text, normalized, parse_special))
    all += p.id ? "(" + std::to_string(*p.id) + ")" : "'" + std::string(p.text) + "'";
  return all;
}

}  // namespace

TEST_CASE("the leftmost token is matched, and the longest one at its place") {
  const added_tokens t({named(1, "<a>"), named(2, "<a>b"), named(3, "a>b"), named(4, "<"), named(5, "é")},
                       same);
  CHECK(parts(t, "") == "");
  CHECK(parts(t, "plain") == "'plain'");
  CHECK(parts(t, "x<a>y") == "'x'(1)'y'");
  CHECK(parts(t, "<a>b<a>") == "(2)(1)");
  CHECK(parts(t, "<a") == "(4)'a'");
  CHECK(parts(t, "a>bé") == "(3)(5)");
}

TEST_CASE("special tokens are text unless requested") {
  auto eot = named(1, "<eot>");
  eot.special = true;
  const added_tokens t({eot, named(2, "<tool>")}, same);
  CHECK(parts(t, "a<eot><tool>", true) == "'a'(1)(2)");
  CHECK(parts(t, "a<eot><tool>", false) == "'a<eot>'(2)");
}

TEST_CASE("single-word tokens are not matched inside of words") {
  auto word = named(1, "the");
  word.single_word = true;
  const added_tokens t({word}, same);
  CHECK(parts(t, "the other the") == "(1)' other '(1)");
  CHECK(parts(t, "äthe theé the_ the-x") == "'äthe theé the_ '(1)'-x'");
}

TEST_CASE("tokens strip the white space beside them if configured") {
  auto left = named(1, "<l>"), right = named(2, "<r>"), space = named(3, "  s");
  left.lstrip = true;
  right.rstrip = true;
  const added_tokens t({left, right, space}, same);
  CHECK(parts(t, "a \u3000\n<l> b") == "'a'(1)' b'");
  CHECK(parts(t, "a <r> \t b") == "'a '(2)'b'");
  CHECK(parts(t, "<r>  <l>") == "(2)(1)");
  CHECK(parts(t, "<r>  s") == "(2)(3)");  // its spaces are consumed already
}

TEST_CASE("normalized tokens are matched in the normalized text, others before it") {
  auto normal = named(1, "b");
  normal.normalized = true;
  const added_tokens t({normal, named(2, "a")}, [](std::string_view s) { return std::string(s) + "!"; });
  CHECK(parts(t, "ab!", true, false) == "(2)'b!'");
  CHECK(parts(t, "ab!", true, true) == "'a'(1)");
}

TEST_CASE("tokens are found by id and by content") {
  const added_tokens t({named(7, "<x>")}, same);
  REQUIRE(t.find(7) != nullptr);
  CHECK(t.find(7)->content == "<x>");
  CHECK(t.find("<x>") == t.find(7));
  CHECK(t.find(8) == nullptr);
  CHECK(t.find("<y>") == nullptr);
}
