#include "gpu/tokenizer/pattern_dialect.hpp"

#include <doctest/doctest.h>

#include <string>

#include "gpu/tokenizer/split_pattern.hpp"
#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe::llm;

namespace {

/// The pieces of `text`, separated by |.
std::string pieces_by(const std::string& pattern, std::string_view text) {
  std::string all;
  split_pattern(to_pcre2(pattern)).split(text, [&](std::string_view piece) {
    all += (all.empty() ? "" : "|") + std::string(piece);
  });
  return all;
}

}  // namespace

TEST_CASE("patterns with the same meaning are unchanged") {
  CHECK(to_pcre2(R"((?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|a{2}|b{3,})") ==
        R"((?i:'s|'t)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|a{2}|b{3,})");
  CHECK(to_pcre2("[一-龥]+|é?") == "[一-龥]+|é?");
  CHECK(to_pcre2(R"(\u0041\x{1F600}\x20)") == R"(\x{41}\x{1f600}\x{20})");
}

TEST_CASE("white space is that of Unicode") {
  CHECK(pieces_by(R"(\s+)", "a \t\u0085\u00a0\u3000b\u180e\u200bc") ==
        "a| \t\u0085\u00a0\u3000|b\u180e\u200bc");
  CHECK(pieces_by(R"(\S+)", "a\u180e\u200b \u0085b") == "a\u180e\u200b| \u0085|b");
  CHECK(pieces_by(R"([^\s]+)", "a\u180e b") == "a\u180e| |b");
  CHECK(pieces_by(R"([^\S\n]+)", "a \t\nb\u180e") == "a| \t|\nb\u180e");
}

TEST_CASE("a script contains only characters of its own, not common ones") {
  // U+3001 is used in Han texts, but common to several scripts
  CHECK(pieces_by(R"(\p{Han}+)", "漢字\u3001") == "漢字|\u3001");
}

TEST_CASE("unsupported or invalid constructs of patterns are refused by name") {
  const auto why = [](const std::string& pattern) {
    return refusal([&] { split_pattern(to_pcre2(pattern)); });
  };
  CHECK(why(R"(a\w)") == "at byte 1 of the pattern is the escape '\\w', which is not supported");
  CHECK(why("^a").find("anchor '^'") != std::string::npos);
  CHECK(why("(*LIMIT_MATCH=1)a").find("verb") != std::string::npos);
  CHECK(why("(?#c)a").find("kind of group") != std::string::npos);
  CHECK(why("(?R)").find("kind of group") != std::string::npos);
  CHECK(why(R"((a)\1)").find("escape '\\1'") != std::string::npos);
  CHECK(why("[a[b]]").find("class in a class") != std::string::npos);
  CHECK(why("[a&&b]").find("intersection") != std::string::npos);
  CHECK(why("[]a]").find("empty class") != std::string::npos);
  CHECK(why("a{1,2}+").find("'+' after a repetition") != std::string::npos);
  CHECK(why("a{,2}").find("without a repetition") != std::string::npos);
  CHECK(why("a{99999}").find("without a repetition") != std::string::npos);
  CHECK(why(R"(\pL)").find("property") != std::string::npos);
  CHECK(why(R"(\xff)").find("is a byte") != std::string::npos);
  CHECK(why(R"(\u00)").find("without its digits") != std::string::npos);
  CHECK(why("a\\").find("at the end") != std::string::npos);
  CHECK(why(R"(\p{Klingon})").find("PCRE2 cannot read") != std::string::npos);
  CHECK(why("(a").find("PCRE2 cannot read") != std::string::npos);
  CHECK(why("[a").find("PCRE2 cannot read") != std::string::npos);
}
