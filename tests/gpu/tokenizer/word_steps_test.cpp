#include "gpu/tokenizer/word_steps.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe::llm;
using json = nlohmann::json;

namespace {

const std::string words_file = "t.json";
using word_list = std::vector<std::string>;

json split_step(const char* kind, const char* pattern, const char* behavior, bool invert = false) {
  return {{"type", "Split"}, {"pattern", {{kind, pattern}}}, {"behavior", behavior}, {"invert", invert}};
}

json pretokenizers(json steps) { return {{"type", "Sequence"}, {"pretokenizers", std::move(steps)}}; }

const json byte_level{{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};

void run_steps(const std::vector<word_step>& steps, size_t i, const text_part& part, word_list& to) {
  if (i == steps.size()) return to.push_back((part.at_start ? "^" : "") + std::string(part.text));
  steps[i](part, [&](const text_part& inner) { run_steps(steps, i + 1, inner, to); });
}

/// The words of a text at the beginning of all; that at the beginning is marked.
word_list words_of(const std::vector<word_step>& steps, std::string_view text) {
  word_list all;
  run_steps(steps, 0, {text, true}, all);
  return all;
}

word_list byte_words(const json& document, std::string_view text) {
  return words_of(read_byte_level_steps(json_place(words_file, document)), text);
}

word_list character_words(const json& document, std::string_view text) {
  return words_of(read_character_steps(json_place(words_file, document)), text);
}

}  // namespace

TEST_CASE("word_steps: patterns split one after the other, before ByteLevel") {
  CHECK(byte_words(pretokenizers({split_step("Regex", "[0-9]", "Isolated"),
                                  split_step("Regex", "b", "Isolated"), byte_level}),
                   "12ab") == word_list{"^1", "2", "a", "b"});
  CHECK(byte_words({{"type", "ByteLevel"}}, "a b") == word_list{"^a", " b"});
}

TEST_CASE("word_steps: Removed with invert leaves the matches alone") {
  CHECK(byte_words(pretokenizers({split_step("Regex", "[0-9]+", "Removed", true), byte_level}), "a12b3c") ==
        word_list{"^12", "3"});
}

TEST_CASE("word_steps: a String stays with the part before it") {
  const auto document = split_step("String", " ", "MergedWithPrevious");
  CHECK(character_words(document, "a b  c") == word_list{"^a ", "b ", " ", "c"});
  CHECK(character_words(document, " a") == word_list{"^ ", "a"});
  CHECK(character_words(document, "a") == word_list{"^a"});
}

TEST_CASE("word_steps: Metaspace puts its symbol before the beginning of the text, and words begin with it") {
  const json first{{"type", "Metaspace"}, {"replacement", "▁"}, {"prepend_scheme", "first"}};
  CHECK(character_words(first, "a b") == word_list{"^▁a", "▁b"});
  CHECK(character_words(pretokenizers({split_step("String", "b", "MergedWithPrevious"), first}), "abc") ==
        word_list{"^▁ab", "c"});
}

TEST_CASE("word_steps: other steps are refused by name") {
  const auto bytes = [](const json& d) { return refusal([&] { byte_words(d, ""); }); };
  const auto characters = [](const json& d) { return refusal([&] { character_words(d, ""); }); };
  CHECK(characters({{"type", "Digits"}}) ==
        "t.json: type is 'Digits', which is not supported; supported: Metaspace and Split");
  CHECK(characters(byte_level) ==
        "t.json: type is 'ByteLevel', which is not supported; supported: Metaspace and Split");
  CHECK(bytes({{"type", "Metaspace"}}) ==
        "t.json: type is 'Metaspace', which is not supported; supported: Split and ByteLevel");
  CHECK(bytes(pretokenizers({byte_level, split_step("Regex", "a", "Isolated")})) ==
        "t.json: pretokenizers[0] is not the last step of the pre-tokenizer, which is not supported");
  CHECK(characters(split_step("String", " ", "Isolated")) ==
        "t.json: behavior is 'Isolated', which is not supported; supported: MergedWithPrevious of a String");
  CHECK(characters(split_step("String", " ", "MergedWithPrevious", true)) ==
        "t.json: behavior is 'MergedWithPrevious' with invert, which is not supported; supported: "
        "MergedWithPrevious of a String");
  CHECK(characters(split_step("Regex", "a", "Removed")) ==
        "t.json: behavior is 'Removed', which is not supported; supported: Isolated, and Removed with "
        "invert, of a Regex");
  CHECK(characters(split_step("String", "", "MergedWithPrevious")) == "t.json: pattern.String is empty");
}
