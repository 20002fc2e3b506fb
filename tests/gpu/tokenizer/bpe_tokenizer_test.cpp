#include "gpu/tokenizer/bpe_tokenizer.hpp"

#include <doctest/doctest.h>

#include <string>
#include <thread>

#include "gpu/common/request_refused.hpp"
#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe;
using namespace troupe::llm;
using namespace std::string_literals;

TEST_CASE("the merge of the best rank is applied first, at its leftmost place") {
  // 256 bc, 257 ab, 258 aa, 259 aaaa
  const auto t = make(byte_level_document({{"b", "c"}, {"a", "b"}, {"a", "a"}, {"aa", "aa"}}));
  CHECK(t->encode("abc", false, false) == token_ids{'a', 256});
  CHECK(t->encode("abab", false, false) == token_ids{257, 257});
  CHECK(t->encode("aaa", false, false) == token_ids{258, 'a'});
  CHECK(t->encode("aaaaa", false, false) == token_ids{259, 'a'});
  CHECK(t->encode("", false, false).empty());
}

TEST_CASE("a word that is a token may be exempt from merges") {
  auto d = byte_level_document({{"b", "c"}});
  d["model"]["vocab"]["abc"] = 300;
  CHECK(make(d)->encode("abc", false, false) == token_ids{'a', 256});
  d["model"]["ignore_merges"] = true;
  CHECK(make(d)->encode("abc", false, false) == token_ids{300});
}

TEST_CASE("merges do not cross words") {
  const auto t = make(byte_level_document({{" ", "a"}, {"a", " "}}));
  CHECK(t->encode("a a", false, false) == token_ids{'a', 256});
}

TEST_CASE("encoding and decoding keep valid UTF-8, and replace invalid bytes") {
  const auto t = make(byte_level_document({{"\xf0", "\x9f"}, {"\xc3", "\xa9"}, {"e", "\xcc"}}));
  for (const auto& text : {"é😀 漢 e\u0301\0 \t\n"s, "\u00ad\u0100\u0143Ġ"s}) {
    CHECK(t->decode(t->encode(text, false, false), true) == text);
  }
  CHECK(t->encode("\xf0\x9f!", false, false) == t->encode("\ufffd!", false, false));
}

TEST_CASE("texts are normalized if the tokenizer requires it") {
  auto d = byte_level_document();
  CHECK(make(d)->encode("e\u0301", false, false).size() == 3);
  d["normalizer"] = {{"type", "NFC"}};
  CHECK(make(d)->encode("e\u0301", false, false) == token_ids{0xc3, 0xa9});
}

TEST_CASE("special tokens are parsed, named, shown and hidden") {
  auto d = byte_level_document();
  add_token(d, "<tool>");
  d["post_processor"] = {{"type", "TemplateProcessing"},
                         {"single", {{{"SpecialToken", {{"id", "e"}}}}, {{"Sequence", {{"id", "A"}}}}}},
                         {"special_tokens", {{"e", {{"ids", {256}}}}}}};
  const auto t = make(d);
  CHECK(t->vocabulary() == 258);
  CHECK(t->encode("a<|eot|>", true, true) == token_ids{256, 'a', 256});
  CHECK(t->encode("<|eot|>", false, false).size() == 7);
  CHECK(t->encode("<tool>", false, false) == token_ids{257});
  CHECK(t->decode({256, 'a', 257}, true) == "a<tool>");
  CHECK(t->decode({256, 'a', 257}, false) == "<|eot|>a<tool>");
  CHECK(t->is_special(256));
  CHECK_FALSE(t->is_special(257));
  CHECK(t->find("<|eot|>") == token{256});
  CHECK_FALSE(t->find("<|none|>"));
  CHECK(t->piece(256) == "");
  CHECK(t->piece(257) == "<tool>");
  CHECK(t->piece(' ') == " ");
}

TEST_CASE("BPE tokens have the names of the vocabulary") {
  auto d = byte_level_document({{" ", "a"}});  // 256
  add_token(d, "caf\u00e9 \n");
  const auto t = make(d);
  CHECK(t->name(256) == "Ġa");
  for (int byte = 0; byte < 256; ++byte)
    CHECK(t->name(byte) == in_byte_alphabet(std::string(1, static_cast<char>(byte))));
  CHECK(t->name(257) == "<|eot|>");
  CHECK(t->name(258) == "caf\u00e9 \n");
  CHECK(t->name(-1).empty());
  CHECK(t->name(259).empty());
}

TEST_CASE("BPE ids out of range decode to nothing") {
  const auto t = make(byte_level_document());
  CHECK(t->decode({-1, 'a', 257, 1 << 30, INT32_MIN}, false) == "a");
  CHECK(t->piece(-1) == "");
  CHECK(t->piece(1 << 30) == "");
  CHECK_FALSE(t->is_special(-1));
  CHECK_FALSE(t->is_special(1 << 30));
}

TEST_CASE("BPE ids in a gap decode to nothing") {
  auto d = byte_level_document();
  d["added_tokens"][0]["id"] = 1000;
  const auto t = make(d);
  CHECK(t->vocabulary() == 1001);
  CHECK(t->decode({'a', 500, 1000}, false) == "a<|eot|>");
}

TEST_CASE("a long word is encoded in less than quadratic time") {
  auto d = byte_level_document({{"a", "a"}, {"aa", "aa"}, {"aaaa", "aaaa"}});
  const auto t = make(d);
  CHECK(t->encode(std::string(1 << 20, 'a'), false, false).size() == (1 << 20) / 8);
}

TEST_CASE("a text with unbounded backtracking is refused, and the next one is accepted") {
  auto d = byte_level_document();
  use_pattern(d, "(?:a|aa|a+)+[bc]");
  const auto t = make(d);
  CHECK_THROWS_AS(t->encode(std::string(300, 'a'), false, false), request_refused);
  CHECK(t->encode("aab", false, false).size() == 3);
}

TEST_CASE("BPE of characters: spaces are symbols, unknown characters bytes, and a leading space is omitted") {
  // 259 ▁, 260 a, 261 b, 262 ▁▁, 263 ▁a, 264 ab
  const auto t = make(character_document({"▁", "a", "b"}, {{"▁", "▁"}, {"▁", "a"}, {"a", "b"}}));
  CHECK(t->encode("ab", false, false) == token_ids{263, 261});
  CHECK(t->encode(" ab", false, false) == token_ids{262, 264});
  CHECK(t->encode("a é", false, false) == token_ids{263, 259, 3 + 0xc3, 3 + 0xa9});
  CHECK(t->encode("", false, false).empty());
  CHECK(t->encode("a<s>a", false, true) == token_ids{263, 1, 263});
  CHECK(t->decode({263, 261}, true) == "ab");
  CHECK(t->decode({262, 264}, true) == " ab");
  CHECK(t->decode({1, 263}, true) == "a");
  CHECK(t->decode({1, 263}, false) == "<s> a");
  CHECK(t->decode({260, 3 + 0xf0, 3 + 0x9f, 260}, true) == "a\ufffda");
  CHECK(t->piece(263) == " a");
  CHECK(t->name(263) == "▁a");
  CHECK(t->name(3 + '\n') == "<0x0A>");
}

TEST_CASE(
    "BPE of characters: a token of two words is found, and a whole text that is a token with ignore_merges") {
  // 259 ▁, 260 a, 261 ",", 262 ▁a, 263 "▁a,", 264 "▁a,▁a,"
  auto d = character_document({"▁", "a", ","}, {{"▁", "a"}, {"▁a", ","}, {"▁a,", "▁a,"}});
  CHECK(make(d)->encode("a, a, a, a, a", false, false) == token_ids{264, 264, 262});
  d["model"]["merges"].erase(2);
  CHECK(make(d)->encode("a, a,", false, false) == token_ids{263, 263});
  d["model"]["ignore_merges"] = true;
  CHECK(make(d)->encode("a, a,", false, false) == token_ids{264});
  CHECK(make(d)->encode("a, a, a", false, false) == token_ids{263, 263, 262});
}

TEST_CASE("BPE of characters: a long text without spaces, and one of spaces, take less than quadratic time") {
  const auto t = make(character_document({"▁", "a"}, {{"a", "a"}, {"aa", "aa"}, {"▁", "▁"}, {"▁▁", "▁▁"}}));
  CHECK(t->encode(std::string(1 << 19, 'a'), false, false).size() == (1 << 19) / 4 + 1);
  CHECK(t->encode(std::string((1 << 19) - 1, ' '), false, false).size() == (1 << 19) / 4);
}

TEST_CASE("threads may share a tokenizer") {
  const auto t = make(byte_level_document({{"t", "h"}, {"th", "e"}, {" ", "the"}}));
  const auto expected = t->encode("the other the é <|eot|>", true, true);
  std::vector<std::thread> threads;
  std::vector<int> wrong(4);
  for (size_t i = 0; i < wrong.size(); ++i) {
    threads.emplace_back([&, i] {
      for (int k = 0; k < 100; ++k) wrong[i] += t->encode("the other the é <|eot|>", true, true) != expected;
    });
  }
  for (auto& thread : threads) thread.join();
  for (const int w : wrong) CHECK(w == 0);
}
