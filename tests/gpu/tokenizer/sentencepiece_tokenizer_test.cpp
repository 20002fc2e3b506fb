#include "gpu/tokenizer/sentencepiece_tokenizer.hpp"

#include <doctest/doctest.h>
#include <sentencepiece_processor.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "gpu/common/mapped_file.hpp"
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
  CHECK(t->encode("<unk>ab", false, true) == token_ids{0, space_ab});
  CHECK(t->encode("<unk>", false, false) != token_ids{0});
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

TEST_CASE("a special token that is a user-defined piece is matched only if special tokens are parsed") {
  test_sentencepiece m;
  m.pieces = llama_pieces({{"<turn>", test_piece::user_defined}, {"<tag>", test_piece::user_defined}});
  sentencepiece_settings s;
  s.added = {special(259, "<turn>"), {260, "<tag>"}};
  const auto t = llama_like(m, s);
  CHECK(t->encode("<turn>", false, true) == token_ids{259});
  const auto ids = t->encode("<turn><tag>", false, false);
  CHECK(std::count(ids.begin(), ids.end(), 259) == 0);
  CHECK(ids.back() == 260);
}

TEST_CASE("an added token of spaces decodes to spaces") {
  sentencepiece_settings s;
  s.added = {{two_spaces, "▁▁"}};
  const auto t = llama_like({}, s);
  CHECK(t->decode({lone_a, two_spaces, lone_b}, true) == "a  b");
  CHECK(t->name(two_spaces) == "▁▁");
}

TEST_CASE("text after an added token has no leading space if space_after_added is off") {
  sentencepiece_settings s;
  s.space_after_added = false;
  CHECK(llama_like({}, s)->encode("ab</s>ab", false, true) == token_ids{space_ab, 2, ab});
}

// Recorded with Transformers 5.24.
TEST_CASE("a LlamaTokenizer has the spaces of Transformers, before and behind special tokens") {
  const char* configs[] = {"{}", R"({"tokenizer_class": "LlamaTokenizer"})",
                           R"({"tokenizer_class": "LlamaTokenizerFast", "legacy": true})",
                           R"({"tokenizer_class": "LlamaTokenizer", "add_prefix_space": false})"};
  struct recorded {
    const char* text;
    const char* pieces[std::size(configs)];
  };
  // clang-format off
  const recorded texts[] = {
      {"hi", {"▁ h i", "▁ h i", "▁ h i", "h i"}},
      {"<s>hi", {"<s> ▁ h i", "<s> h i", "<s> ▁ h i", "<s> h i"}},
      {"<s> hi", {"<s> ▁ h i", "<s> ▁ h i", "<s> ▁ h i", "<s> ▁ h i"}},
      {"hi<s>hi", {"▁ h i <s> ▁ h i", "▁ h i <s> h i", "▁ h i <s> ▁ h i", "h i <s> h i"}},
      {"hi <s> hi", {"▁ h i <s> ▁ h i", "▁ h i ▁ <s> ▁ h i", "▁ h i ▁ <s> ▁ h i", "h i ▁ <s> ▁ h i"}},
      {"</s>hi</s>", {"</s> ▁ h i </s>", "</s> h i </s>", "</s> ▁ h i </s>", "</s> h i </s>"}},
      {" hi", {"▁ h i", "▁ h i", "▁ h i", "▁ h i"}},
      {"  hi", {"▁ h i", "▁ ▁ h i", "▁ ▁ h i", "▁ ▁ h i"}},
      {"<s>  hi", {"<s> ▁ h i", "<s> ▁ ▁ h i", "<s> ▁ ▁ h i", "<s> ▁ ▁ h i"}},
      {"hi  ha ", {"▁ h i ▁ h a", "▁ h i ▁ ▁ h a ▁", "▁ h i ▁ ▁ h a ▁", "h i ▁ ▁ h a ▁"}},
      {"<unk>hi", {"<unk> ▁ h i", "<unk> h i", "<unk> ▁ h i", "<unk> h i"}},
      {" <s>hi", {"<s> ▁ h i", "▁ <s> h i", "▁ <s> ▁ h i", "▁ <s> h i"}},
      {"▁hi", {"▁ ▁ h i", "▁ h i", "▁ h i", "▁ h i"}},
      {"hi\n<s>\nhi", {"▁ h i <0x0A> <s> ▁ <0x0A> h i", "▁ h i <0x0A> <s> <0x0A> h i", "▁ h i <0x0A> <s> ▁ <0x0A> h i", "h i <0x0A> <s> <0x0A> h i"}},
      {"ﬁ <s>①", {"▁ <0xEF> <0xAC> <0x81> <s> ▁ <0xE2> <0x91> <0xA0>", "▁ <0xEF> <0xAC> <0x81> ▁ <s> <0xE2> <0x91> <0xA0>", "▁ <0xEF> <0xAC> <0x81> ▁ <s> ▁ <0xE2> <0x91> <0xA0>", "<0xEF> <0xAC> <0x81> ▁ <s> <0xE2> <0x91> <0xA0>"}},
  };
  // clang-format on
  for (size_t i = 0; i < std::size(configs); ++i) {
    const temporary_folder folder;
    std::filesystem::copy(tasks / "base" / "tokenizer.model", folder / "tokenizer.model");
    folder.write("tokenizer_config.json", configs[i]);
    const auto t = read_tokenizer(folder.path);
    for (const auto& [text, pieces] : texts) {
      CAPTURE(configs[i]);
      CAPTURE(text);
      std::string said;
      for (const auto id : t->encode(text, false, true)) said += (said.empty() ? "" : " ") + t->name(id);
      CHECK(said == pieces[i]);
    }
  }
}

TEST_CASE("a LlamaTokenizer keeps all spaces, and decoding strips the one that encoding added") {
  test_sentencepiece collapsing;
  collapsing.remove_extra_whitespaces = true;
  sentencepiece_settings s;
  s.llama_rules = true;
  const auto t = llama_like(collapsing, s);
  CHECK(t->encode("ab  ab", false, false) == token_ids{space_ab, space, space_ab});
  CHECK(t->decode(t->encode("ab  ab", false, false), true) == "ab  ab");
  CHECK(t->decode({space, space_ab}, true) == " ab");
  s.prefix_space = false;
  CHECK(llama_like(collapsing, s)->encode("ab", false, false) == token_ids{ab});
  CHECK(llama_like(collapsing, s)->decode({space_ab}, true) == " ab");
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
  const auto whole = read_text(tasks / "base" / "tokenizer.model", 1 << 20);
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

TEST_CASE(
    "a missing legacy setting is false for a LlamaTokenizer and true for others, as in Transformers 5") {
  const temporary_folder folder;
  const auto read = [&](const std::string& content) {
    folder.write("tokenizer_config.json", content);
    return read_sentencepiece_settings(folder.path);
  };
  CHECK(read("{}").space_after_added);
  CHECK_FALSE(read("{}").llama_rules);
  CHECK(read(R"({"tokenizer_class": "T5Tokenizer"})").space_after_added);
  for (const std::string type : {"LlamaTokenizer", "LlamaTokenizerFast"}) {
    const auto llama = read(R"({"tokenizer_class": ")" + type + "\"}");
    CHECK(llama.llama_rules);
    CHECK(llama.prefix_space);
    CHECK_FALSE(llama.space_after_added);
    CHECK(read(R"({"legacy": true, "tokenizer_class": ")" + type + "\"}").space_after_added);
  }
  CHECK_FALSE(read(R"({"tokenizer_class": "LlamaTokenizer", "add_prefix_space": false})").prefix_space);
}

TEST_CASE(
    "a Mistral, Mixtral or Phi-3 has a LlamaTokenizer's rules only without legacy, as in Transformers 5") {
  const temporary_folder folder;
  const auto read = [&](const std::string& model_type, const std::string& tokenizer) {
    folder.write("config.json", R"({"model_type": ")" + model_type + "\"}");
    folder.write("tokenizer_config.json", tokenizer);
    return read_sentencepiece_settings(folder.path);
  };
  const std::string named = R"({"tokenizer_class": "LlamaTokenizer")";
  for (const auto* type : {"mistral", "mixtral", "phi3"}) {
    for (const auto& settings : {named + "}", named + R"(, "legacy": true})", std::string("{}")}) {
      CHECK_FALSE(read(type, settings).llama_rules);
      CHECK(read(type, settings).space_after_added);
    }
    CHECK(read(type, named + R"(, "legacy": false})").llama_rules);
    CHECK_FALSE(read(type, named + R"(, "legacy": false})").space_after_added);
  }
  CHECK(read("llama", named + "}").llama_rules);
  CHECK(read("llama", named + R"(, "legacy": true})").llama_rules);
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
