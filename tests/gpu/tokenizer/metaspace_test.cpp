#include "gpu/tokenizer/metaspace.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe::llm;
using json = nlohmann::json;

namespace {

metaspace metaspace_of(const json& document) { return read_metaspace(json_place("t.json", document)); }

std::vector<std::string> metaspace_words(const metaspace& m, std::string_view text) {
  std::vector<std::string> all;
  m.each_word(text, [&](std::string_view word) { all.emplace_back(word); });
  return all;
}

}  // namespace

TEST_CASE("metaspace: spaces become symbols, and a text gets one before it as the scheme says") {
  using enum metaspace::prefixes;
  metaspace m{"▁"};
  CHECK(m.rewritten("a b", false) == "▁a▁b");
  CHECK(m.rewritten(" a", false) == "▁a");
  CHECK(m.rewritten("▁a", true) == "▁a");
  m.prefix = first;
  CHECK(m.rewritten("a b", false) == "a▁b");
  CHECK(m.rewritten("a b", true) == "▁a▁b");
  m.prefix = never;
  CHECK(m.rewritten("a b", true) == "a▁b");
}

TEST_CASE("metaspace: words begin with a symbol, or a text is one word") {
  metaspace m{"▁"};
  CHECK(metaspace_words(m, "▁a▁▁b") == std::vector<std::string>{"▁a", "▁", "▁b"});
  CHECK(metaspace_words(m, "a▁") == std::vector<std::string>{"a", "▁"});
  CHECK(metaspace_words(m, "").empty());
  m.split = false;
  CHECK(metaspace_words(m, "▁a▁▁b") == std::vector<std::string>{"▁a▁▁b"});
}

TEST_CASE("metaspace: settings are read in their old and new spelling") {
  using enum metaspace::prefixes;
  CHECK(metaspace_of({{"replacement", "_"}}).prefix == always);
  CHECK(metaspace_of({{"replacement", "_"}}).split);
  CHECK(metaspace_of({{"replacement", "_"}, {"add_prefix_space", false}}).prefix == never);
  CHECK(metaspace_of({{"replacement", "_"}, {"prepend_scheme", "first"}, {"split", false}}).prefix == first);
  CHECK_FALSE(metaspace_of({{"replacement", "_"}, {"split", false}}).split);
}

TEST_CASE("metaspace: other settings are refused") {
  const auto why = [](const json& d) { return refusal([&] { metaspace_of(d); }); };
  CHECK(why({{"replacement", "__"}}) == "t.json: replacement is not one character");
  CHECK(why({{"replacement", ""}}) == "t.json: replacement is not one character");
  CHECK(why({{"replacement", "_"}, {"prepend_scheme", "last"}}) ==
        "t.json: prepend_scheme is 'last', which is not supported; supported: always, first and never");
}
