#include "gpu/tokenizer/sentencepiece_model.hpp"

#include <doctest/doctest.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <string>

#include "gpu/common/mapped_file.hpp"
#include "gpu/tokenizer/utf8.hpp"
#include "policies/common/random.hpp"
#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe;
using namespace troupe::llm;

namespace {

std::unique_ptr<const sentencepiece_model> read(const std::string& file) {
  return sentencepiece_model::make(check_sentencepiece(file, "m"));
}

std::unique_ptr<const sentencepiece_model> read(const test_sentencepiece& model) {
  return read(write_sentencepiece(model));
}

std::string text_of(random_stream& random, size_t max, const std::vector<std::string>& of) {
  std::string text;
  for (auto n = random.below(max); n > 0; --n) text += of[random.below(of.size())];
  return text;
}

/// Pieces of few characters, so that many pairs of a text merge, often with equal scores.
test_sentencepiece random_model(random_stream& random, uint64_t type) {
  const std::vector<std::string> characters{"▁", "▁", "a", "a", "b", "c", "é", "😀", "\n"};
  test_sentencepiece m;
  m.model_type = type;
  m.remove_extra_whitespaces = random.below(3) == 0;
  m.byte_fallback = random.below(3) > 0;
  m.add_dummy_prefix = random.below(2) > 0;
  m.pieces = {{"<unk>", test_piece::unknown}, {"<s>", test_piece::control}};
  if (m.byte_fallback) m.pieces = llama_pieces();
  std::set<std::string> taken;
  for (const auto& p : m.pieces) taken.insert(p.text);
  const bool spaces_inside = random.below(2) > 0;
  for (auto n = 5 + random.below(80); n > 0; --n) {
    auto text = text_of(random, 6, characters);
    if (!spaces_inside) {
      const auto begin = text.find_first_not_of("▁");
      if (begin != std::string::npos) text = text.substr(0, text.find("▁", begin));
    }
    if (text.empty() || !taken.insert(text).second) continue;
    const auto kind = random.below(8) == 0 ? test_piece::user_defined : test_piece::normal;
    m.pieces.push_back({text, kind, -static_cast<float>(random.below(12))});
  }
  return m;
}

}  // namespace

TEST_CASE("random models give the tokens of libsentencepiece") {
  const std::vector<std::string> alphabet{" ", " ", "▁", "a", "a", "b", "c", "é", "😀", "\n", "z", "ö"};
  for (uint64_t run = 0; run < 600; ++run) {
    CAPTURE(run);
    random_stream random(1, "sentencepiece", run);
    const auto model = random_model(random, 1 + run % 2);
    const auto file = write_sentencepiece(model);
    sentencepiece::SentencePieceProcessor library;
    REQUIRE(library.LoadFromSerializedProto(file).ok());
    const auto ours = read(file);
    REQUIRE(ours != nullptr);
    for (const size_t max : {4, 12, 12, 40, 40, 400}) {
      auto text = text_of(random, max, alphabet);
      if (max == 400) text += text + " " + text;  // words that occurred before
      CAPTURE(text);
      token_ids ids{-5};
      ours->append(text, model.add_dummy_prefix, ids);
      auto expected = library.EncodeAsIds(text);
      expected.insert(expected.begin(), -5);
      CHECK(ids == expected);
    }
  }
}

TEST_CASE(
    "texts are rewritten by the table of a model, and the fixture's have the tokens of libsentencepiece") {
  const auto path = std::filesystem::path(TROUPE_FIXTURES) / "llama-tasks" / "base" / "tokenizer.model";
  const std::vector<std::string> words{"sort: ", " ",      "  ",     "ab",      "é", "x",  "b a",
                                       "ﬁ",      "①",      "ｱﾞ",     "e\u0301", "Ⅷ", "\t", "\n",
                                       "\u00a0", "\u3000", "\u200b", "▁",       "q", "qa", "\x01"};
  test_sentencepiece rewriting;
  rewriting.charsmap = charsmap_of({{"\t", " "},
                                    {"\n", ""},
                                    {"\u00a0", " "},
                                    {"\u3000", "  "},
                                    {"e\u0301", "é"},
                                    {"q", "a b"},
                                    {"qa", " x "},
                                    {"ab", "▁"},
                                    {"①", "abab"}});
  auto collapsing = rewriting;
  collapsing.remove_extra_whitespaces = true;
  collapsing.pieces.push_back({"ab", test_piece::user_defined});
  collapsing.pieces.erase(std::ranges::find(collapsing.pieces, "ab", &test_piece::text));
  collapsing.model_type = 1;
  for (const auto& file :
       {read_text(path, 1 << 20), write_sentencepiece(rewriting), write_sentencepiece(collapsing)}) {
    sentencepiece::SentencePieceProcessor library;
    REQUIRE(library.LoadFromSerializedProto(file).ok());
    const auto ours = read(file);
    REQUIRE(ours != nullptr);
    for (uint64_t run = 0; run < 2000; ++run) {
      CAPTURE(run);
      random_stream random(1, "rewriting", run);
      std::string text;
      for (auto n = random.below(run % 100 == 0 ? 3000 : 20); n > 0; --n) {
        const auto c = 1 + random.below(random.below(2) > 0 ? 0x3100 : 0x10ffff);
        if (random.below(4) > 0)
          text += words[random.below(words.size())];
        else if (c < 0xd800 || c > 0xdfff)
          append_utf8(text, static_cast<char32_t>(c));
      }
      CAPTURE(text);
      token_ids ids;
      ours->append(text, true, ids);
      CHECK(ids == library.EncodeAsIds(text));
    }
  }
}

TEST_CASE("a long text without any space takes no quadratic time") {
  const auto bpe = read(test_sentencepiece{});
  REQUIRE(bpe != nullptr);
  token_ids ids;
  bpe->append(std::string(1 << 20, 'a'), true, ids);
  CHECK(ids.size() == 1 << 20);
  ids.clear();
  bpe->append(std::string(1 << 20, ' '), false, ids);
  CHECK(ids.size() == 1 << 19);
}

TEST_CASE("models with rare features are left to the library") {
  CHECK(read(test_sentencepiece{}) != nullptr);
  test_sentencepiece words, unused, large, control;
  words.model_type = 3;
  unused.pieces.push_back({"abab", test_piece::unused});
  large.pieces.push_back({std::string(257, 'a')});
  control.pieces.push_back({"q", test_piece::control});
  for (const auto& m : {words, unused, large, control}) CHECK(read(m) == nullptr);
}
