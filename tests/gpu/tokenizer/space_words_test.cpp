#include "gpu/tokenizer/space_words.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace troupe::llm;

namespace {

std::vector<std::string> space_words_of(const space_words& words, std::string_view text) {
  std::vector<std::string> all;
  for (; !text.empty(); text.remove_prefix(all.back().size()))
    all.emplace_back(text.substr(0, words.first(text)));
  return all;
}

using word_list = std::vector<std::string>;

}  // namespace

TEST_CASE("space_words: words begin with their spaces") {
  const space_words words;
  CHECK(space_words_of(words, "a") == word_list{"a"});
  CHECK(space_words_of(words, "▁a▁bé▁▁▁c▁") == word_list{"▁a", "▁bé", "▁▁▁c", "▁"});
  CHECK(space_words_of(words, "▁▁▁") == word_list{"▁▁▁"});
}

TEST_CASE("space_words: a piece with a space behind a character joins such words") {
  space_words words;
  words.note("▁▁x,▁y");
  CHECK(space_words_of(words, "a,▁b▁c,▁▁d") == word_list{"a,▁b", "▁c,▁▁d"});
  words.note("é▁");  // counts for all characters that are not ASCII
  CHECK(space_words_of(words, "é▁ö▁b▁c") == word_list{"é▁ö▁b", "▁c"});
}

TEST_CASE("space_words: spaces at the beginning of a piece, and alone, join nothing") {
  space_words words;
  for (const auto* piece : {"▁", "▁▁▁", "▁a", "▁▁ab"}) words.note(piece);
  CHECK(space_words_of(words, "a▁a▁▁b") == word_list{"a", "▁a", "▁▁b"});
}
