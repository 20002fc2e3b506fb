#include "gpu/tokenizer/byte_fallback_decoder.hpp"

#include <doctest/doctest.h>

#include <string>

#include "tests/gpu/tokenizer/models.hpp"

using namespace troupe::llm;
using json = nlohmann::json;

namespace {

const json byte_step{{"type", "ByteFallback"}}, fuse_step{{"type", "Fuse"}};

json replace_step(const char* what, const char* by) {
  return {{"type", "Replace"}, {"pattern", {{"String", what}}}, {"content", by}};
}

json strip_step(int start, int stop, const char* content = " ") {
  return {{"type", "Strip"}, {"content", content}, {"start", start}, {"stop", stop}};
}

byte_fallback_decoder decoder_of(const json& steps) {
  const json document{{"type", "Sequence"}, {"decoders", steps}};
  return read_byte_fallback_decoder(json_place("t.json", document));
}

std::string decoder_refusal(const json& steps) {
  return refusal([&] { decoder_of(steps); });
}

}  // namespace

TEST_CASE("byte_fallback_decoder: a token's text is replaced, unless it is a byte") {
  const auto d = decoder_of({replace_step("▁", " "), replace_step("x", "▁"), byte_step, fuse_step});
  CHECK(d.bytes_of("▁a▁") == " a ");
  CHECK(d.bytes_of("x") == "▁");
  CHECK(d.bytes_of("<0xE2>") == "\xe2");
  CHECK_FALSE(d.strips_space);
}

TEST_CASE("byte_fallback_decoder: a Strip omits the first space") {
  CHECK(decoder_of({replace_step("▁", " "), byte_step, fuse_step, strip_step(1, 0)}).strips_space);
  CHECK_FALSE(decoder_of(json::array({byte_step})).strips_space);
}

TEST_CASE("byte_fallback_decoder: other steps, settings and orders are refused") {
  CHECK(decoder_refusal({byte_step, {{"type", "CTC"}}}) ==
        "t.json: decoders[1].type is 'CTC', which is not supported; supported: ByteFallback, Fuse, Replace "
        "and Strip");
  CHECK(decoder_refusal({fuse_step, byte_step}) ==
        "t.json: decoders[1] is out of order: supported are Replace, ByteFallback, Fuse and Strip, in this "
        "order");
  CHECK(decoder_refusal({replace_step("▁", " "), fuse_step}) ==
        "t.json: the document has no ByteFallback, which a model with byte_fallback needs");
  CHECK(decoder_refusal({byte_step, strip_step(1, 0)}) ==
        "t.json: decoders[1] is not behind a Fuse, so it changes every token, which is not supported");
  CHECK(decoder_refusal({byte_step, fuse_step, strip_step(2, 0)}) == "t.json: decoders[2].start is not 1");
  CHECK(decoder_refusal({byte_step, fuse_step, strip_step(1, 1)}) == "t.json: decoders[2].stop is not 0");
  CHECK(decoder_refusal({byte_step, fuse_step, strip_step(1, 0, "x")}) ==
        "t.json: decoders[2].content is not a space");
  CHECK(decoder_refusal({replace_step("", " "), byte_step}) == "t.json: decoders[0].pattern.String is empty");
  CHECK(decoder_refusal({{{"type", "Replace"}, {"pattern", {{"Regex", "a"}}}, {"content", ""}}, byte_step}) ==
        "t.json: decoders[0].pattern has no 'String'");
}
