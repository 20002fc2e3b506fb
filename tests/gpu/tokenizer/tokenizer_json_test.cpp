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
  CHECK(t.nfc);
  CHECK(t.patterns.size() == 1);
  CHECK(t.added.all().size() == 1);
  CHECK(t.prefix.empty());
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

TEST_CASE("templates add tokens around a text, and may be nested") {
  auto d = byte_level_document();
  const json names = {{"<|eot|>", {{"id", "<|eot|>"}, {"ids", {256}}, {"tokens", {"<|eot|>"}}}},
                      {"ab", {{"id", "ab"}, {"ids", {97, 98}}, {"tokens", {"a", "b"}}}}};
  const json text = {{"Sequence", {{"id", "A"}, {"type_id", 0}}}};
  const auto special = [](const char* name) {
    return json{{"SpecialToken", {{"id", name}, {"type_id", 0}}}};
  };
  const auto processor = [&](json single) {
    return json{{"type", "TemplateProcessing"}, {"single", std::move(single)}, {"special_tokens", names}};
  };
  d["post_processor"] = processor({special("<|eot|>"), text, special("ab")});
  auto t = read_tokenizer_json(d.dump(), "t.json");
  CHECK(t.prefix == std::vector<token>{256});
  CHECK(t.suffix == std::vector<token>{97, 98});
  d["post_processor"] = {{"type", "Sequence"},
                         {"processors",
                          {{{"type", "ByteLevel"}},
                           processor({special("<|eot|>"), text}),
                           processor({special("ab"), text, special("<|eot|>")})}}};
  t = read_tokenizer_json(d.dump(), "t.json");
  CHECK(t.prefix == std::vector<token>{97, 98, 256});
  CHECK(t.suffix == std::vector<token>{256});
}

TEST_CASE("unsupported kinds of tokenizers are refused by name") {
  CHECK_REFUSED("model.type is 'Unigram': only BPE is supported", d["model"]["type"] = "Unigram");
  CHECK_REFUSED("model.byte_fallback is true, which is not supported", d["model"]["byte_fallback"] = true);
  CHECK_REFUSED("model.unk_token is '<unk>': it must be empty for byte-level BPE",
                d["model"]["unk_token"] = "<unk>");
  CHECK_REFUSED("model.dropout is set: the tokens of a text would be random", d["model"]["dropout"] = 0.1);
  CHECK_REFUSED("normalizer.type is 'Lowercase', which is not supported; supported: NFC",
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
  CHECK_REFUSED("pre_tokenizer.pretokenizers[0].behavior is 'Removed': only Isolated is supported", {
    use_pattern(d, "a");
    d["pre_tokenizer"]["pretokenizers"][0]["behavior"] = "Removed";
  });
  CHECK_REFUSED("pre_tokenizer.pretokenizers[0].invert is true, which is not supported", {
    use_pattern(d, "a");
    d["pre_tokenizer"]["pretokenizers"][0]["invert"] = true;
  });
  CHECK_REFUSED("pre_tokenizer does not end in ByteLevel: only byte-level BPE is supported", {
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

TEST_CASE("templates without the text, or with unknown tokens, are refused") {
  const auto with = [](json single, json ids) {
    return refused([&](json& d) {
      d["post_processor"] = {{"type", "TemplateProcessing"},
                             {"single", std::move(single)},
                             {"special_tokens", {{"x", {{"ids", std::move(ids)}}}}}};
    });
  };
  const json text = {{"Sequence", {{"id", "A"}}}}, other = {{"Sequence", {{"id", "B"}}}};
  const json x = {{"SpecialToken", {{"id", "x"}}}}, y = {{"SpecialToken", {{"id", "y"}}}};
  CHECK(with({x, text}, {1}) == "");
  CHECK(with(json::array({x}), {1}) == "t.json: post_processor.single has no place for the text");
  CHECK(with({text, text}, {1}) ==
        "t.json: post_processor.single[1].Sequence must be the text A, once in the template");
  CHECK(with(json::array({other}), {1}) ==
        "t.json: post_processor.single[0].Sequence must be the text A, once in the template");
  CHECK(with({y, text}, {1}) ==
        "t.json: post_processor.single[0].SpecialToken.id is 'y', which special_tokens does not have");
  CHECK(with({x, text}, {1000}) ==
        "t.json: post_processor.special_tokens.x.ids[0] is 1000, which is not the id of a token");
  CHECK(with({x, text}, std::vector<int>(2000, 1)) ==
        "t.json: post_processor puts too many tokens around a text");
}
