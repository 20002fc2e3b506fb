#include "gpu/tokenizer/surrounding_tokens.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe::llm;
using json = nlohmann::json;

namespace {

const json text_item{{"Sequence", {{"id", "A"}, {"type_id", 0}}}};

json special_item(const char* name) { return {{"SpecialToken", {{"id", name}, {"type_id", 0}}}}; }

/// Adds the tokens "e" (256) and "ab" (97, 98).
json around(json single, json ids_of_e = {256}) {
  return {{"type", "TemplateProcessing"},
          {"single", std::move(single)},
          {"special_tokens", {{"e", {{"ids", std::move(ids_of_e)}}}, {"ab", {{"ids", {97, 98}}}}}}};
}

surrounding_tokens texts_around(const json& made) {
  const auto document = json::parse(made.dump());  // its numbers have no sign
  return read_surrounding_tokens(json_place("t.json", document), [](token t) { return t < 300; });
}

std::string surroundings_refusal(const json& document) {
  return refusal([&] { texts_around(document); });
}

}  // namespace

TEST_CASE("surrounding_tokens: a template adds tokens before and behind a text") {
  const auto t = texts_around(around({special_item("e"), text_item, special_item("ab")}));
  CHECK(t.prefix == token_ids{256});
  CHECK(t.suffix == token_ids{97, 98});
}

TEST_CASE("surrounding_tokens: a later template adds its tokens outside, and ByteLevel none") {
  const json steps{{{"type", "ByteLevel"}},
                   around({special_item("e"), text_item}),
                   around({special_item("ab"), text_item, special_item("e")})};
  const auto t = texts_around({{"type", "Sequence"}, {"processors", steps}});
  CHECK(t.prefix == token_ids{97, 98, 256});
  CHECK(t.suffix == token_ids{256});
}

TEST_CASE("surrounding_tokens: templates without the text, or with unknown tokens, are refused") {
  const json other{{"Sequence", {{"id", "B"}}}};
  CHECK(surroundings_refusal(around(json::array({special_item("e")}))) ==
        "t.json: single has no place for the text");
  CHECK(surroundings_refusal(around({text_item, text_item})) ==
        "t.json: single[1].Sequence must be the text A, once in the template");
  CHECK(surroundings_refusal(around(json::array({other}))) ==
        "t.json: single[0].Sequence must be the text A, once in the template");
  CHECK(surroundings_refusal(around({special_item("y"), text_item})) ==
        "t.json: single[0].SpecialToken.id is 'y', which special_tokens does not have");
  CHECK(surroundings_refusal(around({special_item("e"), text_item}, json::array({1000}))) ==
        "t.json: special_tokens.e.ids[0] is 1000, which is not the id of a token");
  CHECK(surroundings_refusal(around({special_item("e"), text_item}, std::vector<int>(2000, 1))) ==
        "t.json: the document puts too many tokens around a text");
}

TEST_CASE("surrounding_tokens: other kinds are refused by name") {
  CHECK(surroundings_refusal({{"type", "BertProcessing"}}) ==
        "t.json: type is 'BertProcessing', which is not supported; supported: ByteLevel and "
        "TemplateProcessing");
}
