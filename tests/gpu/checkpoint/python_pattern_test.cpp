#include "gpu/checkpoint/python_pattern.hpp"

#include <doctest/doctest.h>

#include "tests/gpu/checkpoint/files.hpp"

using namespace troupe::llm;

namespace {

bool matches(const char* expression, std::string_view text) {
  return python_pattern(expression).matches_all_of(text);
}

std::string refused_pattern(const std::string& expression) {
  return error_of([&] { python_pattern{expression}; });
}

}  // namespace

// As re.fullmatch(expression, text) in Python 3.11.
TEST_CASE("an expression matches all of a text or not at all") {
  CHECK(matches("a|ab", "ab"));
  CHECK(!matches("a", "ab"));
  CHECK(!matches("b", "ab"));
  CHECK(matches("", ""));
  CHECK(!matches("", "a"));
  CHECK(matches("a*?", "aaa"));
  CHECK(!matches("(?>a*)ab", "aaab"));
  CHECK(matches("^a.c$", "abc"));
  CHECK(!matches("a.c", "a\nc"));
}

TEST_CASE("counts, groups, lookaround and back-references work as in Python") {
  CHECK(matches("a{2,3}", "aaa"));
  CHECK(!matches("a{2,3}", "aaaa"));
  CHECK(matches("a{b}", "a{b}"));
  CHECK(matches("(?=a)[a-c]+(?<!b)", "abc"));
  CHECK(!matches("(?!a)[a-c]+", "abc"));
  CHECK(matches("(a+)-\\1", "aa-aa"));
  CHECK(!matches("(a+)-\\1", "aa-a"));
  CHECK(matches("(?P<n>a+)-(?P=n)", "aa-aa"));
  CHECK(!matches("(b)?a\\1", "a"));  // a group without a match cannot be referenced
  CHECK(matches("[]a]+", "]a"));
  CHECK(matches("[^]a]+", "bc"));
  CHECK(matches("[\\]a]+[(*]", "]a("));
}

TEST_CASE("letters and digits are Unicode's") {
  CHECK(matches("\\w+", "größe"));
  CHECK(matches("gr..e", "größe"));
  CHECK(matches("\\d", "٣"));
  CHECK(!matches("\\W", "ß"));
}

TEST_CASE("patterns with another meaning in PCRE2 are refused") {
  CHECK(refused_pattern("a(*ACCEPT)b") == "'(*' is not supported");
  CHECK(refused_pattern("a{,3}") == "'{,' is not supported");
  CHECK(refused_pattern("[[:alpha:]]") == "'[:' is not supported");
  CHECK(refused_pattern("(?R)") == "'(?R' is not supported");
  CHECK(refused_pattern("(?i)a") == "'(?i' is not supported");
  CHECK(refused_pattern("(?<n>a)") == "'(?<' is not supported");
  CHECK(refused_pattern("(?") == "'(?' is not supported");
  for (const std::string escape : {"\\K", "\\Q", "\\h", "\\R", "\\v", "\\x", "\\g"})
    CHECK(refused_pattern("a" + escape + "1") == "'" + escape + "' is not supported");
  CHECK(refused_pattern("a\\") != "no error");
  CHECK(refused_pattern("(?<=a*)b") == "lookbehind assertion is not fixed length");
}
