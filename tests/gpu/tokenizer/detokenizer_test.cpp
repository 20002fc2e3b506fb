#include "gpu/tokenizer/detokenizer.hpp"

#include <doctest/doctest.h>

#include <string>

#include "gpu/tokenizer/sentencepiece_tokenizer.hpp"
#include "gpu/tokenizer/utf8.hpp"
#include "policies/common/random.hpp"
#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe;
using namespace troupe::llm;
using shared = std::shared_ptr<const tokenizer>;

namespace {

shared byte_level() {
  auto d =
      byte_level_document({{"\xf0", "\x9f"}, {"\xc3", "\xa9"}, {" ", "a"}, {"a", "\xcc"}, {"\x98", "\x80"}});
  add_token(d, "<tool é>");
  return make(d);
}

shared characters(bool strip) {
  auto d = character_document({"▁", "a", "漢", "\u0301"}, {{"▁", "▁"}, {"▁", "a"}});
  if (!strip) d["decoder"]["decoders"].erase(3);
  add_token(d, "<tool>");
  add_token(d, "▁▁▁", {{"special", true}});
  return make(d);
}

shared sentencepiece_like(bool prefix, bool collapse) {
  test_sentencepiece m;
  m.add_dummy_prefix = prefix;
  m.remove_extra_whitespaces = collapse;
  m.pieces = llama_pieces(
      {{"▁▁▁"}, {"漢"}, {"\u0301"}, {"▁😀", test_piece::normal}, {"</think>", test_piece::user_defined}});
  sentencepiece_settings s;
  added_token eot{static_cast<token>(m.pieces.size()), "<|eot|>"};
  eot.special = true;
  s.added = {eot, {eot.id + 1, "<tool>"}};
  return make_sentencepiece_tokenizer(write_sentencepiece(m), "m", s);
}

std::string add_all(detokenizer& d, const token_ids& tokens) {
  std::string text;
  for (const auto t : tokens) {
    const auto piece = d.add(t);
    CHECK(is_utf8(piece));
    text += piece;
  }
  const auto last = d.finish();
  CHECK(is_utf8(last));
  return text + last;
}

/// Tokens of characters, special tokens, spaces, lone bytes and ids out of range; often from a small set.
token_ids random_tokens(random_stream& random, const tokenizer& t, size_t max) {
  const auto some = [&] {
    const auto kind = random.below(8);
    if (kind == 0) return static_cast<token>(random.below(t.vocabulary() + 3)) - 1;
    if (kind < 4) return static_cast<token>(t.vocabulary() - 1 - random.below(20));
    static const std::vector<std::string> texts{" ",    "é",   "😀",        "漢字",     "e\u0301",
                                                "\xf0", "  a", "👩\u200d👧", "\xe6\xbc", "a"};
    const auto tokens = t.encode(texts[random.below(texts.size())], false, false);
    // a part of a character now and then
    return tokens.empty() ? token{0} : tokens[random.below(tokens.size())];
  };
  token_ids tokens;
  for (auto n = random.below(max); n > 0; --n) {
    if (random.below(3) == 0) {
      const auto whole = t.encode("é😀漢", false, false);
      tokens.insert(tokens.end(), whole.begin(), whole.end());
    }
    tokens.push_back(some());
  }
  return tokens;
}

void check_all_ways(const shared& t, const char* name) {
  for (uint64_t run = 0; run < 3000; ++run) {
    random_stream random(1, name, run);
    const bool skip_special = random.below(2) == 0;
    const auto tokens = random_tokens(random, *t, 12);
    CAPTURE(name);
    CAPTURE(run);
    detokenizer alone(t, {}, skip_special);
    REQUIRE(add_all(alone, tokens) == t->decode(tokens, skip_special));

    // after a prompt that ends with a whole character
    auto prompt = random_tokens(random, *t, 4);
    const auto end = t->encode("a", false, false);
    if (random.below(2) == 0) prompt.insert(prompt.end(), end.begin(), end.end());
    const auto before = t->decode(prompt, skip_special);
    std::string bytes;
    for (const auto p : prompt) bytes += t->is_special(p) && !skip_special ? "x" : t->piece(p);
    if (incomplete_tail(bytes) > 0) continue;
    auto whole = prompt;
    whole.insert(whole.end(), tokens.begin(), tokens.end());
    detokenizer behind(t, prompt, skip_special);
    REQUIRE(before + add_all(behind, tokens) == t->decode(whole, skip_special));
  }
}

}  // namespace

TEST_CASE("the pieces of a byte-level continuation are its text") {
  check_all_ways(byte_level(), "byte-level");
}

TEST_CASE("the pieces of a SentencePiece continuation are its text, for any omitted spaces") {
  check_all_ways(sentencepiece_like(false, false), "spaces stay");
  check_all_ways(sentencepiece_like(true, false), "one is left out");
  check_all_ways(sentencepiece_like(true, true), "all are left out");
  check_all_ways(sentencepiece_like(false, true), "all are left out, none is added");
}

TEST_CASE("the pieces of a continuation of characters are its text") {
  check_all_ways(characters(true), "one space is left out");
  check_all_ways(characters(false), "spaces stay in tokenizer.json");
}

TEST_CASE("a space is omitted only at the beginning of a text") {
  const auto t = sentencepiece_like(true, false);
  const auto word = t->encode("ab", false, false);
  detokenizer beginning(t, {1}), behind(t, word);
  CHECK(add_all(beginning, word) == "ab");
  CHECK(add_all(behind, word) == " ab");
}

TEST_CASE("a character is returned when it is complete") {
  const auto t = byte_level();
  detokenizer d(t, {});
  CHECK(d.add('a') == "a");
  CHECK(d.add(0xf0) == "");
  CHECK(d.add(0x9f) == "");
  CHECK(d.add(0x98) == "");
  CHECK(d.add(0x80) == "😀");
  CHECK(d.add(0xe6) == "");
  CHECK(d.add('b') == "\ufffdb");
  CHECK(d.add(0xe6) == "");
  CHECK(d.finish() == "\ufffd");
  CHECK(d.finish() == "");
}

TEST_CASE("special tokens are decoded on request") {
  const auto t = byte_level();
  const auto eot = t->find("<|eot|>").value();
  detokenizer hiding(t, {}), showing(t, {}, false);
  CHECK(hiding.add(eot) == "");
  CHECK(showing.add(eot) == "<|eot|>");
}
