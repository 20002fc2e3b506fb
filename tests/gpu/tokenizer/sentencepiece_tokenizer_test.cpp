#include "gpu/tokenizer/sentencepiece_tokenizer.hpp"

#include <doctest/doctest.h>
#include <sentencepiece_processor.h>

#include <fstream>
#include <string>

#include "gpu/tokenizer/json_place.hpp"
#include "gpu/tokenizer/utf8.hpp"
#include "policies/common/random.hpp"
#include "tests/gpu/tokenizer/models.hpp"
#include "tests/temporary_folder.hpp"

using namespace troupe;
using namespace troupe::llm;
using troupe::temporary_folder;

namespace {

std::shared_ptr<const tokenizer> llama_like(const test_sentencepiece& model = {},
                                            sentencepiece_settings settings = {}) {
  return make_sentencepiece_tokenizer(write_sentencepiece(model), "m", std::move(settings));
}

// of llama_pieces()
constexpr token space = 259, lone_a = 260, lone_b = 261, ab = 264, space_a = 265, space_ab = 266,
                two_spaces = 267;

added_token special(token id, const std::string& content) {
  added_token t{id, content};
  t.special = true;
  return t;
}

const std::filesystem::path tasks = std::filesystem::path(TROUPE_FIXTURES) / "llama-tasks";

}  // namespace

TEST_CASE("the fixture's tokenizer gives the golden tokens and texts") {
  const auto t = read_tokenizer(tasks / "base");
  std::ifstream in(tasks / "golden.json");
  const auto golden = nlohmann::json::parse(in);
  REQUIRE(golden.size() == 30);
  for (const auto& g : golden) {
    CHECK(t->encode(g.at("prompt").get<std::string>(), true, false) == g.at("prompt_ids").get<token_ids>());
    CHECK(t->decode(g.at("output_ids").get<token_ids>(), true) == g.at("text").get<std::string>());
  }
}

TEST_CASE("encoding adds a leading space, and decoding omits it") {
  const auto t = llama_like();
  CHECK(t->encode("ab", false, false) == token_ids{space_ab});
  CHECK(t->decode({space_ab}, true) == "ab");
  CHECK(t->decode({space_ab, space_ab}, true) == "ab ab");
  CHECK(t->decode({space, space_a}, true) == " a");
  CHECK(t->decode({two_spaces, lone_a}, true) == " a");
  CHECK(t->piece(space_ab) == " ab");
}

TEST_CASE("characters without a piece become bytes, and decode to the same text") {
  const auto t = llama_like();
  CHECK(t->encode("a😀", false, false) == token_ids{space_a, 3 + 0xf0, 3 + 0x9f, 3 + 0x98, 3 + 0x80});
  CHECK(t->decode({space_a, 3 + 0xf0, 3 + 0x9f, 3 + 0x98, 3 + 0x80}, true) == "a😀");
  CHECK(t->decode({3 + 0x9f, lone_a, 3 + 0xe6, 3 + 0xbc}, true) == "\ufffda\ufffd");
  CHECK(t->decode({3 + ' ', lone_a}, true) == " a");
  CHECK(t->piece(3 + 0x9f) == "\x9f");
  CHECK(t->encode("a\xff", false, false) == t->encode("a\ufffd", false, false));
}

TEST_CASE("any sequence of pieces is decoded as by sentencepiece") {
  for (const bool prefix : {false, true}) {
    for (const bool collapse : {false, true}) {
      test_sentencepiece m;
      m.add_dummy_prefix = prefix;
      m.remove_extra_whitespaces = collapse;
      const auto file = write_sentencepiece(m);
      const auto t = make_sentencepiece_tokenizer(file, "m", {});
      sentencepiece::SentencePieceProcessor library;
      REQUIRE(library.LoadFromSerializedProto(file).ok());
      for (uint64_t run = 0; run < 2000; ++run) {
        random_stream random(1, "pieces", run);
        token_ids tokens;
        for (auto n = random.below(8); n > 0; --n) {
          // only ASCII bytes as byte tokens: for others it yields a different number of U+FFFD
          tokens.push_back(
              static_cast<token>(random.below(4) > 0 ? space + random.below(9) : 1 + random.below(130)));
        }
        CAPTURE(run);
        CHECK(t->decode(tokens, true) == library.DecodeIds(tokens));
      }
    }
  }
}

TEST_CASE("BOS is first and EOS last if the settings enable them") {
  CHECK(llama_like()->encode("ab", true, false) == token_ids{1, space_ab});
  CHECK(llama_like({}, {false, true, true, {}})->encode("ab", true, false) == token_ids{space_ab, 2});
  CHECK(llama_like({}, {true, true, true, {}})->encode("ab", false, false) == token_ids{space_ab});
}

TEST_CASE("special tokens of the model and added ones are parsed, named, shown and hidden") {
  sentencepiece_settings s;
  s.added = {special(268, "<|im_end|>"), {269, "<tool>"}};
  const auto t = llama_like({}, s);
  CHECK(t->vocabulary() == 270);
  CHECK(t->encode("ab</s>ab<|im_end|>", false, true) == token_ids{space_ab, 2, space_ab, 268});
  CHECK(t->encode("ab<tool>", false, false) == token_ids{space_ab, 269});
  CHECK(t->encode("</s>", false, false) != token_ids{2});
  CHECK(t->decode({1, space_ab, 2, space_ab, 268, 269}, true) == "ab ab<tool>");
  CHECK(t->decode({1, space_ab, 2, 0, 268}, false) == "<s> ab</s><unk><|im_end|>");
  CHECK(t->is_special(0));
  CHECK(t->is_special(2));
  CHECK(t->is_special(268));
  CHECK_FALSE(t->is_special(269));
  CHECK(t->piece(2) == "");
  CHECK(t->find("</s>") == token{2});
  CHECK(t->find("<|im_end|>") == token{268});
  CHECK_FALSE(t->find("ab"));
}

TEST_CASE("text after an added token has no leading space if space_after_added is off") {
  sentencepiece_settings s;
  s.space_after_added = false;
  CHECK(llama_like({}, s)->encode("ab</s>ab", false, true) == token_ids{space_ab, 2, ab});
}

TEST_CASE("SentencePiece tokens have the names of the vocabulary") {
  sentencepiece_settings settings;
  settings.added = {special(300, "<tool>")};
  const auto t = llama_like({}, settings);
  CHECK(t->name(space_ab) == "▁ab");
  CHECK(t->name(3 + '\n') == "<0x0A>");
  CHECK(t->name(0) == "<unk>");
  CHECK(t->name(1) == "<s>");
  CHECK(t->name(300) == "<tool>");
  CHECK(t->name(299).empty());
  CHECK(t->name(-1).empty());
  CHECK(t->name(301).empty());
}

TEST_CASE("SentencePiece ids out of range decode to nothing") {
  const auto t = llama_like();
  CHECK(t->decode({-1, ab, 268, 1 << 30, INT32_MIN}, false) == "ab");
  CHECK(t->piece(-1) == "");
  CHECK_FALSE(t->is_special(1 << 30));
}

TEST_CASE("models that the sentencepiece library refuses are refused") {
  test_sentencepiece doubled, no_unknown;
  doubled.pieces.push_back({"ab"});
  no_unknown.pieces.erase(no_unknown.pieces.begin());
  const auto why = [](const test_sentencepiece& m) { return refusal([&] { llama_like(m); }); };
  CHECK(why(doubled).starts_with("m: sentencepiece cannot read it: "));
  CHECK(why(no_unknown).starts_with("m: sentencepiece cannot read it: "));
}

TEST_CASE("a damaged model file is refused, or still usable") {
  const auto whole = read_file(tasks / "base" / "tokenizer.model", 1 << 20);
  size_t usable = 0;
  for (uint64_t run = 0; run < 400; ++run) {
    random_stream random(2, "damage", run);
    auto file = whole;
    if (run % 4 == 0) file.resize(random.below(file.size()));
    for (auto n = random.below(4); n > 0 && !file.empty(); --n)
      file[random.below(file.size())] = static_cast<char>(random());
    try {
      const auto t = make_sentencepiece_tokenizer(file, "m", {});
      usable += is_utf8(t->decode(t->encode("sort: hello wörld \xff 😀", true, true), false));
    } catch (const model_error&) {
    }
  }
  CHECK(usable > 50);
}

TEST_CASE("settings come from the files beside the model") {
  const temporary_folder folder;
  auto s = read_sentencepiece_settings(folder.path);
  CHECK(s.add_bos);
  CHECK_FALSE(s.add_eos);
  CHECK(s.space_after_added);
  CHECK(s.added.empty());
  folder.write("tokenizer_config.json", R"({"add_bos_token": false, "add_eos_token": true, "legacy": false,
    "added_tokens_decoder": {"2": {"content": "</s>", "special": true, "rstrip": true}, "7": {"content": "<x>"}}})");
  folder.write("added_tokens.json", R"({"<x>": 7, "<y>": 8})");
  s = read_sentencepiece_settings(folder.path);
  CHECK_FALSE(s.add_bos);
  CHECK(s.add_eos);
  CHECK_FALSE(s.space_after_added);
  REQUIRE(s.added.size() == 3);
  CHECK(s.added[0].id == 2);
  CHECK(s.added[0].special);
  CHECK(s.added[0].rstrip);
  CHECK_FALSE(s.added[1].special);
  CHECK(s.added[2].content == "<y>");
  CHECK(s.added[2].special);
}

TEST_CASE("invalid settings are refused with the place") {
  const temporary_folder folder;
  const auto file = (folder.path / "tokenizer_config.json").string();
  const auto why = [&](const std::string& content) {
    folder.write("tokenizer_config.json", content);
    return refusal([&] { read_sentencepiece_settings(folder.path); });
  };
  CHECK(why("{") == file + ": is not JSON, or is nested too deeply: is the file complete?");
  CHECK(why("[]") == file + ": the document is not an object");
  CHECK(why(R"({"add_bos_token": 1})") == file + ": add_bos_token is not true or false");
  CHECK(why(R"({"added_tokens_decoder": {"-1": {"content": "x"}}})") ==
        file + ": added_tokens_decoder.-1 has a key that is not a token id: a whole number below 2097152");
  CHECK(why(R"({"added_tokens_decoder": {"99999999999": {"content": "x"}}})") ==
        file +
            ": added_tokens_decoder.99999999999 has a key that is not a token id: a whole number below "
            "2097152");
  CHECK(why(R"({"added_tokens_decoder": {"1": {"content": "x"}, "2": {"content": "x"}}})") ==
        file + ": added_tokens_decoder.2 is 'x', like another token");
  CHECK(why(R"({"added_tokens_decoder": {"1": {"content": ""}}})") ==
        file + ": added_tokens_decoder.1 has a content of 0 bytes: it must have 1 to 256");
}
