#include "gpu/tokenizer/tokenizer_json.hpp"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe::llm;
using json = nlohmann::json;

namespace {

/// The message of the refusal for a valid file with `change` applied.
std::string refused(const std::function<void(json&)>& change) {
  auto document = byte_level_document({{"a", "b"}, {"ab", "c"}});
  change(document);
  return refusal([&] { read_tokenizer_json(document.dump(), "t.json"); });
}

#define CHECK_REFUSED(place, change) \
  CHECK(refused([](json& d) { change; }) == std::string("t.json: ") + (place))

}  // namespace

TEST_CASE("tokenizer.json gives vocabulary, merges, normalizer, patterns and added tokens") {
  auto d = byte_level_document({{"a", "b"}, {"ab", "c"}});
  d["model"]["ignore_merges"] = true;
  d["normalizer"] = {{"type", "NFC"}};
  const auto t = read_tokenizer_json(d.dump(), "t.json");
  CHECK(t.vocabulary.size() == 259);
  CHECK(t.vocabulary[' '].bytes == " ");
  CHECK(t.vocabulary[257].bytes == "abc");
  REQUIRE(t.merges.size() == 2);
  CHECK(t.merges[1].left == 256);
  CHECK(t.merges[1].right == 'c');
  CHECK(t.merges[1].result == 257);
  CHECK(t.ignore_merges);
  CHECK(t.normalizer("e\u0301") == "é");
  CHECK(t.steps.size() == 1);
  CHECK(t.added.all().size() == 1);
  CHECK(t.around.prefix.empty());
}

TEST_CASE("a merge may be an array or a text") {
  auto d = byte_level_document();
  d["model"]["vocab"]["ab"] = 256;
  d["added_tokens"] = json::array();
  d["model"]["merges"] = json::array({"a b"});
  CHECK(read_tokenizer_json(d.dump(), "t.json").merges.at(0).result == 256);
  d["model"]["merges"] = json::array({json::array({"a", "b"})});
  CHECK(read_tokenizer_json(d.dump(), "t.json").merges.at(0).result == 256);
}

TEST_CASE("unsupported kinds of tokenizers are refused by name") {
  CHECK_REFUSED("model.type is 'Unigram': only BPE is supported", d["model"]["type"] = "Unigram");
  CHECK_REFUSED("model.fuse_unk is true, which is not supported", d["model"]["fuse_unk"] = true);
  CHECK_REFUSED("model.unk_token is '<unk>', which is not supported: it must be empty",
                d["model"]["unk_token"] = "<unk>");
  CHECK_REFUSED("model.dropout is set: the tokens of a text would be random", d["model"]["dropout"] = 0.1);
  CHECK_REFUSED("normalizer.type is 'Lowercase', which is not supported; supported: NFC, Prepend and Replace",
                d["normalizer"]["type"] = "Lowercase");
  CHECK_REFUSED("pre_tokenizer.type is 'Whitespace', which is not supported; supported: Split and ByteLevel",
                d["pre_tokenizer"]["type"] = "Whitespace");
  CHECK_REFUSED("pre_tokenizer.add_prefix_space is true, which is not supported",
                d["pre_tokenizer"]["add_prefix_space"] = true);
  CHECK_REFUSED("decoder.type is 'WordPiece', which is not supported; supported: ByteLevel",
                d["decoder"]["type"] = "WordPiece");
  CHECK_REFUSED(
      "post_processor.type is 'BertProcessing', which is not supported; supported: ByteLevel and "
      "TemplateProcessing",
      d["post_processor"]["type"] = "BertProcessing");
  CHECK_REFUSED("pre_tokenizer does not end in ByteLevel, as it must without model.byte_fallback", {
    use_pattern(d, "a");
    d["pre_tokenizer"]["pretokenizers"].erase(1);
  });
  CHECK_REFUSED(
      "pre_tokenizer.pretokenizers[0] at byte 0 of the pattern is the escape '\\w', which is not supported",
      use_pattern(d, "\\w"));
}

TEST_CASE("malformed or damaged files are refused with the place") {
  const auto damaged = "t.json: is not JSON, or is nested too deeply: is the file complete?";
  CHECK(refusal([] { read_tokenizer_json("", "t.json"); }) == damaged);
  const auto whole = byte_level_document().dump();
  CHECK(refusal([&] { read_tokenizer_json(whole.substr(0, whole.size() / 2), "t.json"); }) == damaged);
  CHECK(refusal([] { read_tokenizer_json(std::string(1 << 20, '['), "t.json"); }) == damaged);
  CHECK(refusal([] { read_tokenizer_json("[]", "t.json"); }) == "t.json: the document is not an object");
  CHECK_REFUSED("the document has no 'decoder'", d.erase("decoder"));
  CHECK_REFUSED("model has no 'merges'", d["model"].erase("merges"));
  CHECK_REFUSED("model.vocab is not an object", d["model"]["vocab"] = "x");
  CHECK_REFUSED("model.vocab is empty", d["model"]["vocab"] = json::object());
  CHECK_REFUSED("added_tokens is not an array", d["added_tokens"] = 3);
  CHECK_REFUSED("added_tokens[0].special is not true or false", d["added_tokens"][0]["special"] = 1);
}

TEST_CASE("ids out of range or used twice are refused") {
  const std::string range = " is not a token id: a whole number below 2097152";
  CHECK_REFUSED("model.vocab.a" + range, d["model"]["vocab"]["a"] = -1);
  CHECK_REFUSED("model.vocab.a" + range, d["model"]["vocab"]["a"] = 1e18);
  CHECK_REFUSED("model.vocab.a" + range, d["model"]["vocab"]["a"] = 18446744073709551615U);
  CHECK_REFUSED("model.vocab.a" + range, d["model"]["vocab"]["a"] = 2097152);
  CHECK_REFUSED("model.vocab.a" + range, d["model"]["vocab"]["a"] = "1");
  CHECK_REFUSED("model.vocab.b has the id 97, like another token", d["model"]["vocab"]["b"] = 97);
  CHECK_REFUSED("model.vocab. is an empty token", d["model"]["vocab"][""] = 1000);
  CHECK_REFUSED("added_tokens[0] has the id 7, like another token", d["added_tokens"][0]["id"] = 7);
  CHECK_REFUSED("added_tokens[0] is 'ab' with the id 258, but in model.vocab that has 256",
                d["added_tokens"][0]["content"] = "ab");
  CHECK_REFUSED("added_tokens[1] is '<|eot|>', like an earlier token", add_token(d, "<|eot|>"));
  CHECK_REFUSED("added_tokens[1] has the id 258, like an earlier token", {
    add_token(d, "<x>");
    d["added_tokens"][1]["id"] = 258;
  });
  CHECK_REFUSED("added_tokens[1] has a content of 0 bytes: it must have 1 to 256", add_token(d, ""));
  CHECK_REFUSED("added_tokens[1] has a content of 300 bytes: it must have 1 to 256",
                add_token(d, std::string(300, 'x')));
}

TEST_CASE("malformed or repeated merges, and merges of unknown tokens, are refused") {
  CHECK_REFUSED("model.merges[2] names 'zz', which model.vocab does not have",
                d["model"]["merges"].push_back({"zz", "a"}));
  CHECK_REFUSED("model.merges[2] names 'ba', which model.vocab does not have",
                d["model"]["merges"].push_back({"b", "a"}));
  CHECK_REFUSED("model.merges[2] repeats an earlier merge", d["model"]["merges"].push_back({"a", "b"}));
  CHECK_REFUSED("model.merges[2] is not a pair of tokens", d["model"]["merges"].push_back({"a", "b", "c"}));
  CHECK_REFUSED("model.merges[2] is not a pair of tokens like \"a b\"", d["model"]["merges"].push_back("ab"));
  CHECK_REFUSED("model.merges[2] is not a pair of tokens like \"a b\"",
                d["model"]["merges"].push_back("a b c"));
  CHECK_REFUSED("model.merges[2] is not a string", d["model"]["merges"].push_back(7));
}

TEST_CASE("a template adds tokens that the vocabulary has") {
  const auto with = [](json id) {
    auto d = byte_level_document();
    d["added_tokens"][0]["id"] = 300;  // behind a gap
    d["post_processor"] = {{"type", "TemplateProcessing"},
                           {"single", {{{"SpecialToken", {{"id", "x"}}}}, {{"Sequence", {{"id", "A"}}}}}},
                           {"special_tokens", {{"x", {{"ids", json::array({std::move(id)})}}}}}};
    return read_tokenizer_json(d.dump(), "t.json").around.prefix;
  };
  CHECK(with(300) == token_ids{300});
  for (const int id : {299, 301})
    CHECK(refusal([&] { with(id); }).find("which is not the id of a token") != std::string::npos);
}

TEST_CASE("a tokenizer.json with byte_fallback gives the text of tokens") {
  auto d = character_document({"▁", "a"}, {{"▁", "a"}});
  add_token(d, "▁x", {{"normalized", true}});
  const auto t = read_tokenizer_json(d.dump(), "t.json");
  CHECK(t.byte_fallback);
  CHECK(t.strips_space);
  CHECK(t.normalizer("a b") == "▁a▁b");
  CHECK(t.vocabulary[261].bytes == " a");
  CHECK(t.vocabulary[261].characters == "▁a");
  CHECK(t.vocabulary[3 + 0xe2].bytes == "\xe2");
  CHECK(t.vocabulary.back().bytes == "  x");  // as the normalizer makes it
  CHECK_FALSE(t.vocabulary.back().plain);
}

TEST_CASE("with byte_fallback, a byte has a token, or is a character that has one") {
  auto d = character_document({"\t"});
  auto& vocab = d["model"]["vocab"];
  vocab.erase("<0x09>");
  CHECK(read_tokenizer_json(d.dump(), "t.json").byte_fallback);
  const auto why = [&] { return refusal([&] { read_tokenizer_json(d.dump(), "t.json"); }); };
  vocab.erase("\t");
  CHECK(why() == "t.json: model.vocab has no '<0x09>', which byte_fallback needs");
  d = character_document({});
  d["model"]["vocab"].erase("<0xFF>");
  CHECK(why() == "t.json: model.vocab has no '<0xFF>', which byte_fallback needs");
}

TEST_CASE("with byte_fallback, unsupported pieces are refused by name") {
  const auto why = [](const std::function<void(json&)>& change) {
    auto d = character_document({"▁", "a"}, {{"▁", "a"}});
    change(d);
    return refusal([&] { read_tokenizer_json(d.dump(), "t.json"); });
  };
  CHECK(why([](json& d) {
          d["normalizer"] = {{"type", "Nmt"}};
        }) ==
        "t.json: normalizer.type is 'Nmt', which is not supported; supported: NFC, Prepend and Replace");
  CHECK(why([](json& d) {
          d["pre_tokenizer"] = {{"type", "Digits"}};
        }) ==
        "t.json: pre_tokenizer.type is 'Digits', which is not supported; supported: Metaspace and Split");
  CHECK(why([](json& d) {
          d["decoder"] = {{"type", "ByteLevel"}};
        }) ==
        "t.json: decoder.type is 'ByteLevel', which is not supported; supported: ByteFallback, Fuse, Replace "
        "and Strip");
  CHECK(why([](json& d) {
          d["model"]["vocab"]["<0x41><0x42>"] = 262;
          d["model"]["merges"].push_back({"<0x41>", "<0x42>"});
        }) == "t.json: model.merges[1] joins '<0x41>', a byte, which is not supported");
  CHECK(why([](json& d) {
          d["normalizer"]["normalizers"][1]["content"] = std::string(256, 'x');
          d["added_tokens"][0]["content"] = std::string(256, ' ');
          d["added_tokens"][0]["id"] = 262;
          d["added_tokens"][0]["normalized"] = true;
        }) == "t.json: added_tokens[0] becomes too long by the normalizer");
}
